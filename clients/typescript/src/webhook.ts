import { createHmac, timingSafeEqual } from 'node:crypto'
import { types } from 'node:util'
import { checkNumber } from './options.js'

/** The headers of a callback. The first three are signed, or are the signature. */
export const headers = {
  id: 'webhook-id',
  timestamp: 'webhook-timestamp',
  signature: 'webhook-signature',
  task: 'foliot-task',
  queue: 'foliot-queue',
  dueAt: 'foliot-due-at',
  schedule: 'foliot-schedule',
  instant: 'foliot-instant',
  attempt: 'foliot-attempt',
  maxAttempts: 'foliot-max-attempts',
  /** A header of your reply: with the value true and a status other than 2xx, the task is dead and is not sent again. */
  noRetry: 'foliot-no-retry',
} as const

/** A callback that was verified. */
export interface Event {
  /** The id of the task: the same for all its attempts. Ignore a callback if its id is that of finished work. */
  id: string
  /** The time of this attempt, in seconds. */
  timestamp: Date
  /** The bytes of the task, as they arrived. */
  body: Uint8Array

  // The fields below are not signed, so trust them no more than the network that the callback has crossed. A field is
  // empty if its header is missing or malformed.

  /** The name of the task. */
  task: string
  /** The queue of the task. */
  queue: string
  /** When the task was due: the same for all attempts. */
  dueAt: Date | undefined
  /** The schedule that made the task. '': none did. */
  schedule: string
  /** The instant of the schedule. undefined: the task was triggered, or no schedule made it. */
  instant: Date | undefined
  /** The number of this attempt, from 1. */
  attempt: number
  /** The highest number of attempts. 0: no limit except the task's max_age. */
  maxAttempts: number
}

/** The headers of a request: of Node, Express and Fastify, or those of fetch. */
export type RequestHeaders = Headers | Record<string, string | string[] | undefined>

/** The options of verify. */
export interface VerifyOptions {
  /** Seconds that the callback's time may differ from now, on either side. Infinity: any time is accepted. Default: 300. */
  tolerance?: number
  /** Default: the time of this machine's clock. */
  now?: Date
}

/** The options of read. */
export interface ReadOptions extends VerifyOptions {
  /** The highest number of bytes of a body. Default: 1 MiB, the longest body that Foliot sends. */
  maxBody?: number
}

/** The callback must not be trusted: reply with 401, and do nothing. */
export class UntrustedError extends Error {
  override name = 'UntrustedError'
}

/**
 * Reads the body of a request and verifies it, as verify does. The request is that of Node, or the Request of fetch. If
 * the body is too long, or some code has read it before, this throws an UntrustedError.
 */
export async function read(
  secrets: string | readonly string[],
  request: Request | (AsyncIterable<Uint8Array> & { headers: RequestHeaders }),
  { maxBody = 1 << 20, ...options }: ReadOptions = {},
): Promise<Event> {
  checkNumber('maxBody', maxBody, 0, 'bytes, 0 or more')
  const longer = `the body is longer than ${maxBody} bytes: raise maxBody if your tasks have such bodies`
  if (Number(header(request.headers, 'content-length')) > maxBody) throw new UntrustedError(longer)
  if (request instanceof Request && request.bodyUsed) throw new UntrustedError(gone)
  const stream = request instanceof Request ? (request.body as unknown as AsyncIterable<Uint8Array> | null) : request
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of stream ?? []) {
    size += part.byteLength
    if (size > maxBody) throw new UntrustedError(longer)
    parts.push(part)
  }
  return verify(secrets, request.headers, Buffer.concat(parts), options)
}

/**
 * Verifies that a callback came from a server that knows one of the secrets, by Standard Webhooks, and returns it. The
 * body must have the bytes that arrived: no code may parse it before. For a callback without a body, pass '' or no bytes.
 * During a rotation, pass the old secret and the new one. Throws an UntrustedError if the callback must not be trusted.
 * Throws a TypeError if there is no secret, or if a secret, the body or an option is invalid.
 */
export function verify(secrets: string | readonly string[], requestHeaders: RequestHeaders, body: string | Uint8Array | ArrayBuffer, options: VerifyOptions = {}): Event {
  const { tolerance = 300, now = new Date() } = options
  checkNumber('tolerance', tolerance, 0, 'seconds, 0 or more')
  checkNumber('now', now.getTime(), -Infinity, 'a Date')
  const keys = keysOf(secrets)
  const bytes = bytesOf(body)
  const get = (name: string) => header(requestHeaders, name)
  const id = get(headers.id)
  const stamp = get(headers.timestamp)
  const signatures = get(headers.signature)
  if (!signatures) throw new UntrustedError('the callback has no signature: create a secret for its queue or namespace, with foliot secret create')
  if (!validId(id)) throw new UntrustedError('the header webhook-id is missing or invalid: a proxy must pass on the signed headers unchanged')
  if (!/^\d{1,11}$/.test(stamp)) throw new UntrustedError('the header webhook-timestamp is missing or invalid: a proxy must pass on the signed headers unchanged')
  if (Math.abs(now.getTime() / 1000 - Number(stamp)) > tolerance) throw new UntrustedError("the callback is too old, or from the future: it is a replay, or this machine's clock is wrong")
  const length = get('content-length')
  const chunked = get('transfer-encoding') !== '' // Foliot sends no chunks
  const parsed = /multipart|encoded/i.test(get('content-type'))
  if (bytes.length === 0 && (parsed || chunked || (length !== '' && length !== '0'))) throw new UntrustedError(gone)
  const wants = signaturesOf(keys, id, stamp, bytes)
  let valid = false
  for (const signature of signatures.split(' ')) {
    const got = Buffer.from(signature)
    for (const want of wants) valid = (got.length === want.length && timingSafeEqual(got, want)) || valid
  }
  if (!valid) throw new UntrustedError('no signature matches: use the secret of its queue, and the bytes of the body as they arrived; otherwise it is forged')
  return {
    id, timestamp: new Date(Number(stamp) * 1000), body: bytes, task: get(headers.task), queue: get(headers.queue), dueAt: timeOf(get(headers.dueAt)),
    schedule: get(headers.schedule), instant: timeOf(get(headers.instant)), attempt: numberOf(get(headers.attempt)), maxAttempts: numberOf(get(headers.maxAttempts)),
  }
}

/**
 * Returns the value of the header webhook-signature, for the test of a receiver: a signature with each secret. Throws a
 * TypeError if there is no secret, or if a secret, the id, the time or the body is invalid.
 */
export function sign(secrets: string | readonly string[], id: string, at: Date, body: string | Uint8Array | ArrayBuffer): string {
  if (!validId(id)) throw new TypeError(`invalid id "${id}": expected printable characters without a space or a dot`)
  checkNumber('time', at.getTime(), 0, 'a Date after 1970')
  return signaturesOf(keysOf(secrets), id, String(Math.floor(at.getTime() / 1000)), bytesOf(body)).join(' ')
}

/** Throws a TypeError, without the secret in it, unless a secret has the form of Standard Webhooks. */
export function checkSecret(secret: string): void {
  keyOf(secret)
}

const gone = 'the bytes of the body are gone: verify the callback before any code reads or parses the body'

function validId(id: string): boolean {
  return /^[!-~]+$/.test(id) && !id.includes('.')
}

function signaturesOf(keys: Buffer[], id: string, stamp: string, body: Uint8Array): Buffer[] {
  return keys.map((key) => Buffer.from('v1,' + createHmac('sha256', key).update(`${id}.${stamp}.`).update(body).digest('base64')))
}

/** Returns the bytes of the body. After a parser, the body is another value without these bytes, so no signature can be verified. */
function bytesOf(body: unknown): Uint8Array {
  if (typeof body === 'string') return Buffer.from(body)
  if (types.isUint8Array(body)) return body
  if (types.isArrayBuffer(body)) return new Uint8Array(body)
  throw new TypeError('invalid body: expected the raw bytes that arrived, as a string, a Uint8Array or an ArrayBuffer; a parsed body has other bytes than those that were signed')
}

function header(from: RequestHeaders, name: string): string {
  if (from instanceof Headers) return from.get(name) ?? ''
  const found = Object.entries(from).filter(([key, value]) => key.toLowerCase() === name && value != null)
  if (found.length > 1) throw new UntrustedError(`the header ${name} occurs more than once: a proxy must pass on the signed headers unchanged`) // another program may read the other one
  return String(found[0]?.[1] ?? '')
}

function timeOf(text: string): Date | undefined {
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : NaN
  return Number.isNaN(time) ? undefined : new Date(time)
}

function numberOf(text: string): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : 0
}

function keysOf(secrets: string | readonly string[]): Buffer[] {
  const keys = (typeof secrets === 'string' ? [secrets] : secrets).map(keyOf)
  if (keys.length === 0) throw new TypeError('no secret is given: pass the secret of the queue or of the namespace')
  return keys
}

function keyOf(secret: string): Buffer {
  const encoded = /^whsec_/.test(secret) ? secret.slice(6) : ''
  const key = Buffer.from(encoded, 'base64')
  if (key.toString('base64') !== encoded || key.length < 24 || key.length > 64) throw new TypeError('invalid secret: expected whsec_ and 24 to 64 bytes in base64, as foliot secret create prints it')
  return key
}
