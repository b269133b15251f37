import { FoliotError, ProblemError, textOf, TransportError } from './errors.js'
import { type CallOptions, checkNumber, type ClientOptions, type ConditionOptions } from './options.js'
import { checkRetry, pauseAfter, retryAfter, sleep } from './retry.js'
import { after } from './timer.js'
import type { Problem } from './types.gen.js'
import { version } from './version.gen.js'

/** One use of one route. */
export interface Call {
  /** Verb and name, for errors. */
  op: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  query?: object
  headers?: Record<string, string | undefined>
  /** The body, as JSON. */
  json?: unknown
  /** The body, if it is not JSON. */
  body?: string | Uint8Array
  /** The field of the reply that the client itself reads: id, or a list. */
  reads?: 'id' | 'tasks' | 'schedules' | 'queues' | 'results'
  /** The server can apply the call twice without harm. */
  repeatable: boolean
  /** Milliseconds in addition to the client's timeout. */
  extra?: number
}

/** The parameters of fetch for all requests of a call. */
interface Prepared {
  url: string
  init: RequestInit
}

/** A reply. Without text it is longer than maxReply. */
interface Reply {
  response: Response
  text: string | undefined
}

/** The most bytes of a reply. The longest is a page of tasks with bodies: 8 MiB, which JSON may make six times as long. */
const maxReply = 64 << 20

/** Sends calls to one server. */
export class Connection {
  private readonly base: string
  private readonly headers: Record<string, string>
  private readonly timeout: number
  private readonly options: ClientOptions

  constructor(server: string, options: ClientOptions) {
    this.base = parseServer(server)
    this.options = options
    this.timeout = options.timeout ?? 60_000
    checkNumber('timeout', this.timeout, Number.MIN_VALUE, 'milliseconds above 0, or Infinity for no limit')
    checkRetry(options.retry ?? {})
    if (options.fetch !== undefined && typeof options.fetch !== 'function') throw new TypeError('invalid fetch: expected a function')
    this.headers = { 'User-Agent': checkText('userAgent', options.userAgent ?? 'foliot-typescript/' + version) }
    if (options.token) {
      if (/[^!-~]/.test(options.token)) throw new TypeError('invalid token: it has a space, a line break or another character that is not allowed')
      this.headers['Authorization'] = 'Bearer ' + options.token
    }
    if (options.namespace) this.headers['Foliot-Namespace'] = checkText('namespace', options.namespace)
  }

  /**
   * Sends a call, and repeats it if that is allowed. Returns the JSON of the reply, with the ETag as etag. If the call
   * cannot be sent, because a header or the body is invalid, it throws a TypeError and sends nothing.
   */
  async call<T>(c: Call, { signal }: CallOptions = {}): Promise<T> {
    const request = this.prepare(c)
    let maybeApplied = false
    for (let requests = 1; ; requests++) {
      try {
        return decode<T>(c, this.base, await this.once(c, request, signal))
      } catch (error) {
        if (!(error instanceof FoliotError)) throw error
        error.maybeApplied = maybeApplied ||= error.maybeApplied
        const pause = pauseAfter(error, requests, c.repeatable, this.options.retry ?? {})
        if (pause === undefined) throw error
        await sleep(pause, signal)
      }
    }
  }

  private async once(c: Call, { url, init }: Prepared, signal: AbortSignal | undefined): Promise<Reply> {
    signal?.throwIfAborted()
    const late = new AbortController()
    const cancel = after(this.timeout + (c.extra ?? 0), () => late.abort(new Error('timed out')))
    const stop = () => late.abort(signal?.reason)
    signal?.addEventListener('abort', stop, { once: true })
    try {
      const response = await (this.options.fetch ?? fetch)(url, { ...init, signal: late.signal })
      return { response, text: await read(response) }
    } catch (error) {
      if (signal?.aborted) throw signal.reason
      throw new TransportError(c.op, this.base, error)
    } finally {
      cancel()
      signal?.removeEventListener('abort', stop)
    }
  }

  /** Encodes a call. It throws all errors that do not depend on the network. */
  private prepare(c: Call): Prepared {
    const headers = new Headers(this.headers)
    for (const [name, value] of Object.entries(c.headers ?? {})) {
      if (value !== undefined) headers.set(name, value)
    }
    if (c.json !== undefined) headers.set('Content-Type', 'application/json')
    const body = c.json === undefined ? c.body ?? undefined : encode(c.json)
    if (body !== undefined && typeof body !== 'string' && !ArrayBuffer.isView(body)) throw new TypeError('invalid body: expected a string or a Uint8Array')
    // The API never redirects: a redirect comes from another server, which must not get the token.
    return { url: this.base + c.path + queryOf(c.query), init: { method: c.method, headers, body: body as BodyInit | undefined, redirect: 'manual' } }
  }
}

/** Returns the text of a reply, or undefined if it is longer than maxReply. */
async function read(response: Response): Promise<string | undefined> {
  const reader = response.body?.getReader?.()
  if (!reader) return response.text()
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    size += value.byteLength
    if (size > maxReply) {
      await reader.cancel()
      return undefined
    }
    text += decoder.decode(value, { stream: true })
  }
}

/** Returns the JSON of a reply, or throws a ProblemError. */
function decode<T>(c: Call, server: string, { response, text }: Reply): T {
  const media = (response.headers.get('Content-Type') ?? '').split(';')[0]!.trim().toLowerCase()
  const parsed = media === 'application/json' || media === 'application/problem+json' ? parse(text ?? '') : undefined
  if (response.ok && media === 'application/json' && parsed && suits(c, parsed)) {
    const etag = response.headers.get('ETag')
    return (etag === null ? parsed : { ...parsed, etag }) as T
  }
  const problem = media === 'application/problem+json' && textOf(parsed?.['code']) ? (parsed as unknown as Problem) : undefined
  const { status } = response
  const lacks = text === undefined ? 'with more than 64 MiB' : `without a Foliot ${response.ok ? 'reply' : 'error'}`
  const detail = problem ? textOf(problem.detail) ?? textOf(problem.title) ?? problem.code : `${server} replied ${status} ${lacks}: is it a Foliot server?`
  const rejected = status >= 300 && status < 500
  const refused = rejected || problem?.code === 'capacity' || problem?.code === 'store_unfit'
  throw new ProblemError(c.op, status, problem, detail, retryAfter(response.headers), !refused)
}

/** Returns the object of a JSON text, or undefined if it is not an object. */
function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** Reports whether a reply has the field that the client reads. */
function suits({ reads }: Call, reply: Record<string, unknown>): boolean {
  if (reads === undefined) return true
  return reads === 'id' ? typeof reply[reads] === 'string' : Array.isArray(reply[reads])
}

function parseServer(server: string): string {
  const url = URL.canParse(server) ? new URL(server) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') throw new TypeError('invalid server URL: expected a URL such as http://127.0.0.1:8750')
  if (url.username || url.password) throw new TypeError("the server's URL must not have a user name or password: set the option token")
  if (url.search || url.hash) throw new TypeError("the server's URL must not have a query or a fragment")
  return (url.origin + url.pathname).replace(/\/+$/, '')
}

/** Returns an option that is sent as a header, or throws a TypeError. */
function checkText(name: string, value: string): string {
  if (/[^\t -~\x80-\xff]/.test(value)) throw new TypeError(`invalid ${name}: it has a line break or another character that is not allowed in a header`)
  return value
}

function queryOf(query: object | undefined): string {
  const values = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined) values.append(name, plain(one))
    }
  }
  return values.size > 0 ? '?' + values : ''
}

const digits = `bigint ${crypto.randomUUID()} `
const quotedDigits = new RegExp(`"${digits}(-?\\d+)"`, 'g')

/** Encodes a value as JSON. A Date becomes a time in RFC 3339, and a BigInt a number with all its digits. */
export function encode(value: unknown): string {
  const text = JSON.stringify(value, function (this: Record<string, unknown>, key, member: unknown) {
    if (this[key] instanceof Date) return plain(this[key])
    return typeof member === 'bigint' ? digits + member : member
  })
  return text.includes(digits) ? text.replace(quotedDigits, '$1') : text
}

/** Returns a value as text for a query or a header. */
export function plain(value: unknown): string {
  if (!(value instanceof Date)) return String(value)
  if (Number.isNaN(value.getTime())) throw new TypeError('invalid Date: it has no time')
  return value.toISOString()
}

/** Returns the path of the record with a name. A server reads "." and ".." as parts of the path. */
export function below(path: string, name: string): string {
  if (name === '' || name === '.' || name === '..') throw new TypeError(`invalid name "${name}": a name has 1 to 256 characters and begins with a letter or digit`)
  return path + encodeURIComponent(name)
}

/** Returns the headers of a condition. */
export function conditions({ ifMatch, ifNoneMatch }: ConditionOptions): Record<string, string | undefined> {
  return { 'If-Match': ifMatch, 'If-None-Match': ifNoneMatch }
}

/** Reports whether a call has a condition: its repeat could fail because the first request succeeded. */
export function conditional({ ifMatch, ifNoneMatch }: ConditionOptions): boolean {
  return ifMatch !== undefined || ifNoneMatch !== undefined
}

/** Reads the pages of a list, one after another. */
export async function* pages<P extends { next_cursor?: string }, T>(read: (cursor: string | undefined) => Promise<P>, items: (page: P) => T[], first?: string): AsyncGenerator<T, void, undefined> {
  let cursor = first
  do {
    const page = await read(cursor)
    yield* items(page)
    cursor = page.next_cursor
  } while (cursor)
}
