import { maxCalls } from './coalescer.js'
import { type FoliotError, ProblemError, sharedBy } from './errors.js'
import type { AllOptions } from './options.js'
import { backoffAfter, pauseAfter, type RetryPolicy } from './retry.js'

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
  /** The options that the call takes besides signal. Those that are headers are sent. */
  takes?: ReadonlyArray<keyof AllOptions>
  /** Its verb in a batch. Default: the call has a request of its own. */
  verb?: 'create' | 'put' | 'cancel' | 'touch'
  /** The name of the task, for cancel and touch in a batch. */
  name?: string
  /** The field of the reply that the client itself reads: id, or a list. */
  reads?: 'id' | 'tasks' | 'schedules' | 'queues'
  /** Whether the server can apply the call twice without harm: always, never, or only without a condition. */
  repeat: 'always' | 'never' | 'unconditional'
  /** Milliseconds in addition to the client's timeout. */
  extra?: number
}

/** The options that are headers. */
const headerOf: { [option in keyof AllOptions]?: string } = { key: 'Idempotency-Key', ifMatch: 'If-Match', ifNoneMatch: 'If-None-Match' }

/** A call that is sent, perhaps several times. It is encoded once. */
export class Attempt {
  /** The path with the query. */
  readonly target: string
  readonly headers: Record<string, string> = {}
  readonly body: string | Uint8Array | undefined
  readonly repeatable: boolean
  /** The highest number of calls in a batch with this one. */
  most = maxCalls
  private text: string | undefined
  private bytes = 0
  private requests = 0
  private maybeApplied = false

  /** Encodes a call. It throws all errors that do not depend on the network. */
  constructor(readonly call: Call, options: AllOptions) {
    const { op, takes = [] } = call
    for (const option of Object.keys(options) as Array<keyof AllOptions>) {
      if (option !== 'signal' && !takes.includes(option)) throw new TypeError(`${op}: there is no option "${option}": expected ${[...takes, 'signal'].join(', ')}`)
    }
    for (const option of takes) {
      const header = headerOf[option]
      const value = options[option] ?? (option === 'key' ? crypto.randomUUID() : undefined)
      if (header !== undefined && value !== undefined) this.headers[header] = checkHeader(header, String(value))
    }
    for (const [name, value] of Object.entries(call.headers ?? {})) {
      if (value !== undefined) this.headers[name] = checkHeader(name, value)
    }
    this.body = call.json === undefined ? call.body ?? undefined : encode(call.json)
    if (call.json !== undefined) this.headers['Content-Type'] = 'application/json'
    if (this.body !== undefined && typeof this.body !== 'string' && !ArrayBuffer.isView(this.body)) throw new TypeError('invalid body: expected a string or a Uint8Array')
    this.repeatable = call.repeat === 'always' || (call.repeat === 'unconditional' && options.ifMatch === undefined && options.ifNoneMatch === undefined)
    this.target = call.path + queryOf(call.query)
  }

  /** The call as a part of a batch. */
  get item(): string {
    if (this.text === undefined) {
      this.text = `{"${this.call.verb}":${(this.body as string | undefined) ?? JSON.stringify(this.call.name)}`
      for (const [field, header] of [['key', 'Idempotency-Key'], ['if_match', 'If-Match'], ['if_none_match', 'If-None-Match']] as const) {
        if (header in this.headers) this.text += `,"${field}":${JSON.stringify(this.headers[header])}`
      }
      this.text += '}'
      this.bytes = Buffer.byteLength(this.text) + 1
    }
    return this.text
  }

  get size(): number {
    void this.item
    return this.bytes
  }

  /** Completes the error of the last request. Returns the milliseconds before the next one, or undefined if the call has failed. */
  failed(error: FoliotError, policy: RetryPolicy): number | undefined {
    error.maybeApplied = this.maybeApplied ||= error.maybeApplied
    const shared = sharedBy(error)
    if (shared > 1) {
      this.most = Math.max(1, Math.floor(shared / 2)) // one call must not fail the others for ever
      if (error instanceof ProblemError) { // perhaps because of another call: go on until each was sent alone
        const { status } = error
        if (status === 500 && this.repeatable) return backoffAfter(1, policy)
        if (status >= 400 && status < 500 && status !== 401 && status !== 403 && status !== 429) return 0
      }
    }
    this.requests++
    return pauseAfter(error, this.requests, this.repeatable, policy)
  }
}

/** Returns the value of a header, or throws a TypeError if HTTP cannot transfer the header. */
export function checkHeader(name: string, value: string, label = 'value of the header ' + name): string {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) throw new TypeError(`invalid header name "${name}": it may have letters, digits and hyphens`)
  if (/[^\t -~\x80-\xff]/.test(value)) throw new TypeError(`invalid ${label}: it has a line break or another character that is not allowed in a header`)
  return value
}

function queryOf(query: object | undefined): string {
  if (query === undefined) return ''
  const values = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
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
  if (typeof name !== 'string' || name === '' || name === '.' || name === '..') throw new TypeError(`invalid name "${name}": a name has 1 to 256 characters and begins with a letter or digit`)
  return path + encodeURIComponent(name)
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
