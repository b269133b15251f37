import type { Problem } from './types.gen.js'

/** The error of a call. It is a ProblemError, a TransportError or a ReplacedError. */
export class FoliotError extends Error {
  /** Verb and name of the call: "get order-42". */
  readonly op: string
  /** Whether the server may have applied the call, by this request or an earlier one. */
  maybeApplied: boolean

  constructor(op: string, message: string, maybeApplied: boolean, options?: ErrorOptions) {
    super(op + ': ' + message, options)
    this.name = new.target.name
    this.op = op
    this.maybeApplied = maybeApplied
  }
}

/** The server refused the call. */
export class ProblemError extends FoliotError {
  /** The HTTP status. */
  readonly status: number
  /** Stable, for programs: /docs/problems of a server lists the codes. "": the reply is not from a Foliot server. */
  readonly code: Problem['code'] | ''
  /** A sentence for people. */
  readonly detail: string
  /** Path of the invalid field, parameter or header; undefined: none. */
  readonly field: string | undefined
  /** All fields of the reply: see Problem. */
  readonly problem: Problem | undefined
  /** Milliseconds that the server asks to wait; 0: it asks for none. */
  readonly retryAfter: number

  constructor(op: string, status: number, problem: Problem | undefined, detail: string, retryAfter: number, maybeApplied: boolean) {
    const field = textOf(problem?.field)
    super(op, field && !detail.startsWith(field + ':') ? field + ': ' + detail : detail, maybeApplied)
    this.status = status
    this.code = problem?.code ?? ''
    this.detail = detail
    this.field = field
    this.problem = problem
    this.retryAfter = retryAfter
  }
}

/** No reply came. The property cause has the error of the connection. */
export class TransportError extends FoliotError {
  /** A repeat must fail in the same way: the certificate is not trusted, the scheme of the URL is wrong, or fetch blocks its port. */
  readonly permanent: boolean

  constructor(op: string, server: string, cause: unknown) {
    const { reason, unsent, permanent } = examine(cause)
    super(op, `no reply from ${server} (${reason})`, !unsent && !permanent, { cause })
    this.permanent = permanent
  }
}

/** Another task took the place of the task that wait waits for. */
export class ReplacedError extends FoliotError {
  constructor(op: string) {
    super(op, 'another task replaced it', false)
  }
}

const shared = new WeakMap<FoliotError, number>()

/** Notes in each error of a request how many calls the request had. */
export function share<E extends FoliotError>(errors: E[]): E[] {
  for (const error of errors) shared.set(error, errors.length)
  return errors
}

/** Returns the number of calls in the request that failed. */
export function sharedBy(error: FoliotError): number {
  return shared.get(error) ?? 1
}

/** Returns a value of a reply if it is a string that is not empty. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Codes of an error while the connection was made: no byte of the request was sent. */
const unsentCodes = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'])

/** Codes of a certificate that is not trusted, or of a server that does not use TLS. */
const permanentCode = /^(ERR_SSL_|ERR_TLS_|CERT_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_)/

/** System calls before the first byte of a request. */
const unsentCalls = new Set(['connect', 'getaddrinfo'])

/** The message of Node if a connection ends during the TLS handshake. The error has no code of its own. */
const unsentMessage = /before secure TLS connection was established/

/** The part of a system error that shows when it occurred. */
interface SystemError {
  code?: unknown
  syscall?: unknown
  message?: unknown
}

/** Reads the cause of fetch's error. With several addresses it has one error for each. */
function examine(error: unknown): { reason: string; unsent: boolean; permanent: boolean } {
  const cause = error instanceof TypeError && error.cause instanceof Error ? error.cause : error
  const all: unknown[] = cause instanceof AggregateError && cause.errors.length > 0 ? cause.errors : [cause]
  const errors = all.map((one): SystemError => Object(one))
  const unsent = errors.every(({ code, syscall, message }) => unsentCodes.has(String(code)) || unsentCalls.has(String(syscall)) || unsentMessage.test(String(message)))
  // The fetch standard blocks some ports: then nothing is sent, and the error has no code.
  const permanent = errors.every(({ code, message }) => permanentCode.test(String(code)) || message === 'bad port')
  const first = all[0] instanceof Error ? all[0].message : String(all[0] ?? '')
  return { reason: first || String(errors[0]?.code ?? 'unknown'), unsent, permanent }
}
