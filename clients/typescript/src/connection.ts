import { Batches } from './batches.js'
import { Attempt, type Call, checkHeader } from './call.js'
import { take } from './coalescer.js'
import { FoliotError, ProblemError, share, textOf, TransportError } from './errors.js'
import { type AllOptions, type CallOptions, checkNumber, type ClientOptions } from './options.js'
import { checkRetry, retryAfter, sleep } from './retry.js'
import { after } from './timer.js'
import type { Problem } from './types.gen.js'
import { version } from './version.gen.js'

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
  private readonly batches: Batches | undefined

  constructor(server: string, options: ClientOptions) {
    this.base = parseServer(server)
    this.options = options
    this.timeout = options.timeout ?? 60_000
    checkNumber('timeout', this.timeout, Number.MIN_VALUE, 'milliseconds above 0, or Infinity for no limit')
    checkRetry(options.retry ?? {})
    if (options.fetch !== undefined && typeof options.fetch !== 'function') throw new TypeError('invalid fetch: expected a function')
    this.headers = { 'User-Agent': checkHeader('User-Agent', options.userAgent ?? 'foliot-typescript/' + version, 'userAgent') }
    if (options.token) {
      if (/[^!-~]/.test(options.token)) throw new TypeError('invalid token: it has a space, a line break or another character that is not allowed')
      this.headers['Authorization'] = 'Bearer ' + options.token
    }
    if (options.namespace) this.headers['Foliot-Namespace'] = checkHeader('Foliot-Namespace', options.namespace, 'namespace')
    if (options.batching ?? true) this.batches = new Batches((attempts, signal) => this.exchange(attempts, signal))
  }

  /**
   * Sends a call, and repeats it if that is allowed. Returns the JSON of the reply, with the ETag as etag. If the call
   * cannot be sent, because an option, a header or the body is invalid, it throws a TypeError and sends nothing.
   */
  async call<T>(c: Call, options: AllOptions = {}): Promise<T> {
    const attempt = new Attempt(c, options)
    const { signal } = options
    for (;;) {
      const outcome = this.batches && c.verb ? await this.batches.send(attempt, signal) : (await this.exchange([attempt], signal))[0]
      if (!(outcome instanceof FoliotError)) return outcome as T
      const pause = attempt.failed(outcome, this.options.retry ?? {})
      if (pause === undefined) throw outcome
      await sleep(pause, signal)
    }
  }

  /** Sends calls in batches, and repeats those for which that is allowed. Returns the reply or the error of each. */
  async many<T>(calls: Call[], options: CallOptions = {}): Promise<Array<T | FoliotError>> {
    const attempts = calls.map((c) => new Attempt(c, options)) // a call that cannot be sent is found before the first request
    const results = new Map<Attempt, T | FoliotError>()
    for (let left = [...attempts]; left.length > 0;) {
      const again: Attempt[] = []
      let longest = 0
      while (left.length > 0) {
        const batch = take(left)
        const outcomes = await this.exchange(batch, options.signal)
        batch.forEach((attempt, i) => {
          const outcome = outcomes[i]
          const pause = outcome instanceof FoliotError ? attempt.failed(outcome, this.options.retry ?? {}) : undefined
          if (pause === undefined) return results.set(attempt, outcome as T | FoliotError)
          longest = Math.max(longest, pause)
          return again.push(attempt)
        })
      }
      if (again.length > 0) await sleep(longest, options.signal)
      left = again
    }
    return attempts.map((attempt) => results.get(attempt)!)
  }

  /** Sends calls in one request. Returns the reply of each, or its FoliotError. */
  private async exchange(attempts: Attempt[], signal: AbortSignal | undefined): Promise<unknown[]> {
    signal?.throwIfAborted()
    const one = attempts.length === 1 ? attempts[0] : undefined
    const late = new AbortController()
    const cancel = after(this.timeout + (one?.call.extra ?? 0), () => late.abort(new Error('timed out')))
    const stop = () => late.abort(signal?.reason)
    signal?.addEventListener('abort', stop, { once: true })
    let reply: Reply
    try {
      const init = one
        ? { method: one.call.method, headers: { ...this.headers, ...one.headers }, body: one.body as BodyInit | undefined }
        : { method: 'POST', headers: { ...this.headers, 'Content-Type': 'application/json' }, body: `{"calls":[${attempts.map((attempt) => attempt.item)}]}` }
      // The API never redirects: a redirect comes from another server, which must not get the token.
      const response = await (this.options.fetch ?? fetch)(this.base + (one?.target ?? '/v1/tasks/batch'), { ...init, redirect: 'manual', signal: late.signal })
      reply = { response, text: await read(response) }
    } catch (error) {
      if (signal?.aborted) throw signal.reason
      return share(attempts.map(({ call }) => new TransportError(call.op, this.base, error)))
    } finally {
      cancel()
      signal?.removeEventListener('abort', stop)
    }
    return decode(attempts, this.base, reply)
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

/** Returns the JSON of the reply to each call of a request, or its ProblemError. */
function decode(attempts: Attempt[], server: string, { response, text }: Reply): unknown[] {
  const media = (response.headers.get('Content-Type') ?? '').split(';')[0]!.trim().toLowerCase()
  const parsed = media === 'application/json' || media === 'application/problem+json' ? parse(text ?? '') : undefined
  if (response.ok && media === 'application/json' && parsed) {
    const results = parsed['results']
    if (attempts.length === 1) {
      const etag = response.headers.get('ETag')
      if (suits(attempts[0]!.call, parsed)) return [etag === null ? parsed : { ...parsed, etag }]
    } else if (Array.isArray(results) && results.length === attempts.length) {
      return attempts.map(({ call }, i) => outcome(call, server, results[i]))
    }
  }
  const problem = media === 'application/problem+json' && textOf(parsed?.['code']) ? (parsed as unknown as Problem) : undefined
  const lacks = text === undefined ? 'with more than 64 MiB' : `without a Foliot ${response.ok ? 'reply' : 'error'}`
  return share(attempts.map(({ call }) => problemError(call, server, response.status, problem, lacks, retryAfter(response.headers))))
}

/** Returns the reply to a call of a batch, or its ProblemError. */
function outcome(call: Call, server: string, result: unknown): unknown {
  const { status, task, code, retry_after }: Record<string, unknown> = Object(result)
  if (typeof status === 'number' && status >= 200 && status < 300 && typeof task === 'object' && task !== null) {
    const { id, version } = task as Record<string, unknown>
    return { ...task, etag: `"${id}.${version}"` }
  }
  const problem = typeof status === 'number' && status >= 300 && textOf(code) ? (result as Problem) : undefined
  const pause = typeof retry_after === 'number' && retry_after > 0 ? retry_after * 1000 : 0
  return problemError(call, server, problem ? Number(status) : 200, problem, 'without a Foliot reply', problem ? pause : 0)
}

function problemError(call: Call, server: string, status: number, problem: Problem | undefined, lacks: string, pause: number): ProblemError {
  const detail = problem ? textOf(problem.detail) ?? textOf(problem.title) ?? problem.code : `${server} replied ${status} ${lacks}: is it a Foliot server?`
  const refused = (status >= 300 && status < 500) || problem?.code === 'capacity' || problem?.code === 'store_unfit'
  return new ProblemError(call.op, status, problem, detail, pause, !refused)
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
