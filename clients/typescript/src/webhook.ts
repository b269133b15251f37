import { createHmac, timingSafeEqual } from 'node:crypto'
import { types } from 'node:util'
import { checkNumber } from './options.js'

/** The headers of a request: of Node, Express and Fastify, or those of fetch. */
export type WebhookHeaders = Headers | Record<string, string | string[] | undefined>

/** The signed parts of a callback besides its body. */
export interface Webhook {
  /** The id of the task: the same for all its attempts. Ignore a callback if its id is that of finished work. */
  id: string
  /** The time of this attempt. */
  timestamp: Date
}

/** The options of verifyWebhook. */
export interface WebhookOptions {
  /** Seconds that the callback's time may differ from this machine's clock, on either side. Infinity: any time is accepted. Default: 300. */
  tolerance?: number
}

/** The callback must not be trusted: reply with 401, and do nothing. */
export class WebhookError extends Error {
  override name = 'WebhookError'
}

/**
 * Verifies that a callback came from a server that knows one of the secrets, by Standard Webhooks. The body must have
 * the bytes that arrived: no code may parse it before. For a callback without a body, pass '' or no bytes. Throws a
 * WebhookError if the callback must not be trusted. Throws a TypeError if there is no secret, or if a secret, the body or
 * the tolerance is invalid.
 */
export function verifyWebhook(secrets: string | readonly string[], headers: WebhookHeaders, body: string | Uint8Array | ArrayBuffer, { tolerance = 300 }: WebhookOptions = {}): Webhook {
  checkNumber('tolerance', tolerance, 0, 'seconds, 0 or more')
  const keys = (typeof secrets === 'string' ? [secrets] : secrets).map(keyOfSecret)
  if (keys.length === 0) throw new TypeError('no secret: pass the secret of the queue or the namespace')
  const bytes = bytesOf(body)
  const id = header(headers, 'webhook-id')
  const stamp = header(headers, 'webhook-timestamp')
  const signatures = header(headers, 'webhook-signature').split(' ')
  if (!/^[!-~]+$/.test(id) || id.includes('.')) throw new WebhookError('the header webhook-id is missing or invalid')
  if (!/^\d{1,11}$/.test(stamp)) throw new WebhookError('the header webhook-timestamp is missing or invalid')
  if (Math.abs(Date.now() / 1000 - Number(stamp)) > tolerance) throw new WebhookError('the callback is too old, or from the future')
  const length = header(headers, 'content-length')
  const chunked = header(headers, 'transfer-encoding') !== '' // Foliot sends no chunks
  const parsed = /multipart|encoded/i.test(header(headers, 'content-type'))
  if (bytes.length === 0 && (parsed || chunked || (length !== '' && length !== '0'))) {
    throw new WebhookError('the bytes of the body are gone: verify the callback before any code parses it')
  }
  const wants = keys.map((key) => Buffer.from('v1,' + createHmac('sha256', key).update(`${id}.${stamp}.`).update(bytes).digest('base64')))
  let valid = false
  for (const signature of signatures) {
    const got = Buffer.from(signature)
    for (const want of wants) valid = (got.length === want.length && timingSafeEqual(got, want)) || valid
  }
  if (!valid) throw new WebhookError('no signature fits: the callback was changed, or another secret signed it')
  return { id, timestamp: new Date(Number(stamp) * 1000) }
}

/** Returns the bytes of the body. After a parser, the body is another value without these bytes, so no signature can be verified. */
function bytesOf(body: unknown): Uint8Array {
  if (typeof body === 'string') return Buffer.from(body)
  if (types.isUint8Array(body)) return body
  if (types.isArrayBuffer(body)) return new Uint8Array(body)
  throw new TypeError('invalid body: expected the raw bytes that arrived, as a string, a Uint8Array or an ArrayBuffer; a parsed body has other bytes than those that were signed')
}

function header(headers: WebhookHeaders, name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? ''
  const found = Object.entries(headers).filter(([key, value]) => key.toLowerCase() === name && value != null)
  if (found.length > 1) throw new WebhookError(`the header ${name} occurs more than once`) // another program may read the other one
  return String(found[0]?.[1] ?? '')
}

function keyOfSecret(secret: string): Buffer {
  const encoded = /^whsec_/.test(secret) ? secret.slice(6) : ''
  const key = Buffer.from(encoded, 'base64')
  if (key.toString('base64') !== encoded || key.length < 24 || key.length > 64) throw new TypeError('invalid secret: expected whsec_ and 24 to 64 bytes in base64, as foliot secret create prints it')
  return key
}
