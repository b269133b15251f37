import type { RetryPolicy } from './retry.js'

/** The options of a client. Without options it suits a server on this machine that has no tokens. */
export interface ClientOptions {
  /** An access token. Default: none is sent. */
  token?: string
  /** For an operator's token, which is valid for all namespaces: the namespace of the calls. Default: the token's, or "default". */
  namespace?: string
  /** Milliseconds for one request, without the time that it asks the server to wait. Infinity: no limit. Default: 60000. */
  timeout?: number
  /** How often and how soon a call is repeated. */
  retry?: RetryPolicy
  /** Whether creates, puts, cancels and touches that are under way at the same time share requests. Default: true. */
  batching?: boolean
  /** Sends the requests in place of the global fetch: for a proxy, or a certificate authority of your own. */
  fetch?: typeof globalThis.fetch
  /** Identifies the program to the server. Default: "foliot-typescript" and the version of this package. */
  userAgent?: string
}

/** The option of every call. A call with an option that it does not know sends nothing, and throws a TypeError. */
export interface CallOptions {
  /** Ends the call, and its wait for a repeat. The call then throws the signal's reason. */
  signal?: AbortSignal
}

/** The options of a change that can depend on the version of the record. */
export interface ConditionOptions extends CallOptions {
  /** The change is made only if the record still has this etag, or with "*" if it exists. Otherwise: 412. */
  ifMatch?: string
}

/** The options of a put. */
export interface PutOptions extends ConditionOptions {
  /** "*": the change is made only if no record has the name. Otherwise: 412. */
  ifNoneMatch?: '*'
}

/** The options of a call that creates a task. */
export interface KeyOptions extends CallOptions {
  /** The idempotency key: all calls with one key create one task. Default: a new random key for each call, so that its repeats create one task. */
  key?: string
}

/** The options of a change of many tasks. */
export interface ExpectOptions extends CallOptions {
  /** Change nothing (412, count_differs) unless exactly this number of tasks matches. */
  expect?: number | bigint
}

/** All options that calls know. */
export interface AllOptions extends PutOptions, KeyOptions, ExpectOptions {
  until?: string | Date
  wait?: string
}

/** Throws a TypeError unless an option is a number that is at least low. */
export function checkNumber(name: string, value: unknown, low: number, expected: string): void {
  if (typeof value !== 'number' || !(value >= low)) throw new TypeError(`invalid ${name} ${String(value)}: expected ${expected}`)
}
