import { FoliotError, ProblemError, TransportError } from './errors.js'
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
        const { response, text } = await this.once(c, request, signal)
        return decode<T>(c, this.base, response, text)
      } catch (error) {
        if (!(error instanceof FoliotError)) throw error
        error.maybeApplied = maybeApplied ||= error.maybeApplied
        const pause = pauseAfter(error, requests, c.repeatable, this.options.retry ?? {})
        if (pause === undefined) throw error
        await sleep(pause, signal)
      }
    }
  }

  private async once(c: Call, { url, init }: Prepared, signal: AbortSignal | undefined): Promise<{ response: Response; text: string }> {
    signal?.throwIfAborted()
    const late = new AbortController()
    const cancel = after(this.timeout + (c.extra ?? 0), () => late.abort(new Error('timed out')))
    const stop = () => late.abort(signal?.reason)
    signal?.addEventListener('abort', stop, { once: true })
    try {
      const response = await (this.options.fetch ?? fetch)(url, { ...init, signal: late.signal })
      return { response, text: await response.text() }
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
    const body = c.json === undefined ? c.body ?? undefined : JSON.stringify(c.json)
    if (body !== undefined && typeof body !== 'string' && !ArrayBuffer.isView(body)) throw new TypeError('invalid body: expected a string or a Uint8Array')
    // The API never redirects: a redirect comes from another server, which must not get the token.
    return { url: this.base + c.path + queryOf(c.query), init: { method: c.method, headers, body: body as BodyInit | undefined, redirect: 'manual' } }
  }
}

/** Returns the JSON of a reply, or throws a ProblemError. */
function decode<T>(c: Call, server: string, response: Response, text: string): T {
  const media = (response.headers.get('Content-Type') ?? '').split(';')[0]!.trim()
  const parsed = media === 'application/json' || media === 'application/problem+json' ? parse(text) : undefined
  if (response.ok && typeof parsed === 'object' && parsed !== null) {
    const etag = response.headers.get('ETag')
    return (etag === null ? parsed : { ...parsed, etag }) as T
  }
  const problem = media === 'application/problem+json' && (parsed as Problem | undefined)?.code ? (parsed as Problem) : undefined
  const { status } = response
  const detail = problem?.detail ?? problem?.title ?? `${server} replied ${status} without a Foliot ${response.ok ? 'reply' : 'error'}: is it a Foliot server?`
  const rejected = status >= 300 && status < 500
  const refused = rejected || problem?.code === 'capacity' || problem?.code === 'store_unfit'
  throw new ProblemError(c.op, status, problem, detail, retryAfter(response.headers), !refused)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
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
      if (one !== undefined) values.append(name, String(one))
    }
  }
  return values.size > 0 ? '?' + values : ''
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
