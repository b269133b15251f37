import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { type IncomingHttpHeaders } from 'node:http'
import { test } from 'node:test'
import { Client, verifyWebhook, WebhookError } from '../src/index.js'
import { Foliot, listen } from './server.js'

const secret = 'whsec_' + Buffer.alloc(32, 7).toString('base64')
const other = 'whsec_' + Buffer.alloc(32, 8).toString('base64')

function signed(body: string, { id = 'task-1', at = Math.floor(Date.now() / 1000), by = [secret] } = {}): Record<string, string> {
  const signatures = by.map((s) => 'v1,' + createHmac('sha256', Buffer.from(s.slice(6), 'base64')).update(`${id}.${at}.${body}`).digest('base64'))
  return { 'webhook-id': id, 'webhook-timestamp': String(at), 'webhook-signature': signatures.join(' '), 'content-length': String(body.length) }
}

test('a delivery of the server is verified, and a changed one is refused', async () => {
  const server = await Foliot.start()
  const first = server.command('secret', 'create')
  const second = server.command('secret', 'create', '--overlap', '1h')
  const got: Array<{ headers: IncomingHttpHeaders; body: Buffer }> = []
  const receiver = await listen((request, response, body) => {
    got.push({ headers: request.headers, body })
    response.end()
  })
  const client = new Client(server.url)
  const made = await client.tasks.create({ delay: '0s', http: { url: receiver.url, body: { order: 42, note: 'ä' } } })
  await client.tasks.wait(made.name)
  const empty = await client.tasks.create({ delay: '0s', http: { url: receiver.url } })
  await client.tasks.wait(empty.name)

  const [full, bare] = got as [typeof got[0], typeof got[0]]
  for (const secrets of [first, second, [other, second], [first, second]]) {
    assert.equal(verifyWebhook(secrets, full.headers, full.body).id, made.id)
  }
  assert.equal(verifyWebhook(first, new Headers(full.headers as Record<string, string>), new Uint8Array(full.body)).id, made.id)
  assert.equal(verifyWebhook(first, full.headers, full.body.toString()).id, made.id)
  assert.equal(verifyWebhook(first, full.headers, new Uint8Array(full.body).buffer).id, made.id)
  for (const body of ['', Buffer.alloc(0), new ArrayBuffer(0)]) assert.equal(verifyWebhook(first, bare.headers, body).id, empty.id)
  assert.throws(() => verifyWebhook(other, full.headers, full.body), WebhookError)
  assert.throws(() => verifyWebhook(first, full.headers, Buffer.concat([full.body, Buffer.from(' ')])), WebhookError)
  assert.throws(() => verifyWebhook(first, full.headers, ''), /bytes of the body are gone/)
  assert.throws(() => verifyWebhook(first, { ...full.headers, 'webhook-id': 'another' }, full.body), WebhookError)
  assert.throws(() => verifyWebhook(first, { ...bare.headers, 'content-type': 'multipart/form-data' }, ''), /bytes of the body are gone/)
})

test('a body without its bytes is refused, also with the signature of a callback without a body', () => {
  const { 'content-length': _, ...headers } = signed('') // as HTTP/2 has them
  assert.equal(verifyWebhook(secret, headers, '').id, 'task-1')
  const parsed = [{ pay: 1_000_000 }, {}, [], new String('forged'), 5, true, null, undefined, new DataView(new ArrayBuffer(6)), new Uint16Array(3), new SharedArrayBuffer(6)]
  for (const body of parsed) {
    assert.throws(() => verifyWebhook(secret, headers, body as never), { name: 'TypeError', message: /^invalid body: expected the raw bytes that arrived/ }, String(body))
  }
  assert.throws(() => verifyWebhook(secret, { ...headers, 'transfer-encoding': 'chunked' }, ''), /bytes of the body are gone/)
  for (const body of ['forged', Buffer.from('forged'), new Uint8Array(6), new ArrayBuffer(6)]) {
    assert.throws(() => verifyWebhook(secret, headers, body), /no signature fits/)
  }
})

test('old callbacks and those from the future are refused, within the tolerance they are not', () => {
  const now = Math.floor(Date.now() / 1000)
  for (const [at, tolerance, valid] of [[now - 290, undefined, true], [now - 310, undefined, false], [now + 310, undefined, false], [now - 310, 400, true], [now - 20, 10, false]] as const) {
    const verify = () => verifyWebhook(secret, signed('x', { at }), 'x', tolerance === undefined ? {} : { tolerance })
    if (valid) assert.equal(verify().timestamp.getTime(), at * 1000)
    else assert.throws(verify, /too old, or from the future/)
  }
})

test('an infinite tolerance accepts any time, and an invalid one is an error of the program', () => {
  for (const at of [0, 99_999_999_999]) {
    assert.equal(verifyWebhook(secret, signed('x', { at }), 'x', { tolerance: Infinity }).timestamp.getTime(), at * 1000)
  }
  for (const tolerance of [NaN, -1, -Infinity, '300', null] as number[]) {
    assert.throws(() => verifyWebhook(secret, signed('x'), 'x', { tolerance }), { name: 'TypeError', message: /^invalid tolerance .*: expected seconds/ })
  }
})

test('broken headers are refused', () => {
  const good = signed('x')
  for (const change of [
    { 'webhook-id': '' }, { 'webhook-id': 'a.1' }, { 'webhook-timestamp': 'now' }, { 'webhook-timestamp': '1e9' }, { 'webhook-timestamp': '' },
    { 'webhook-timestamp': '9'.repeat(12) }, { 'webhook-timestamp': '9'.repeat(400) }, { 'webhook-timestamp': '\u0661\u0662' },
    { 'webhook-signature': 'v1,\ud800' }, { 'webhook-signature': 'v1,\u65e5' }, { 'webhook-signature': 'v1,%%%' }, { 'webhook-signature': 'v1' },
    { 'Webhook-Id': 'task-2' }, { 'Webhook-Signature': good['webhook-signature'] },
    { 'webhook-signature': '' }, { 'webhook-signature': 'v1,' }, { 'webhook-signature': good['webhook-signature']!.replace('v1,', 'v2,') },
  ]) {
    assert.throws(() => verifyWebhook(secret, { ...good, ...change }, 'x'), WebhookError, JSON.stringify(change))
  }
  for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
    assert.throws(() => verifyWebhook(secret, { ...good, [name]: undefined }, 'x', { tolerance: Infinity }), WebhookError, name)
  }
  assert.equal(verifyWebhook(secret, { ...good, 'webhook-signature': 'v2,abc ' + good['webhook-signature'] }, 'x').id, 'task-1')
  assert.equal(verifyWebhook(secret, Object.fromEntries(Object.entries(good).map(([name, value]) => [name.toUpperCase(), value])), 'x').id, 'task-1')
})

test('an id that HTTP cannot transfer is refused, even with a signature', () => {
  for (const id of ['\ud800', '\u65e5', 'a b', 'a\n']) {
    assert.throws(() => verifyWebhook(secret, signed('x', { id }), 'x'), { name: 'WebhookError', message: /webhook-id is missing or invalid/ }, JSON.stringify(id))
  }
})

test('a missing or invalid secret is an error of the program, not of the callback', () => {
  for (const bad of [[], '', 'whsec_', 'whsec_short', secret.slice(6), [secret, 'whsec_%%%'], secret.replace('=', ''), secret.replace('=', '=='), secret.replace('c=', 'd='), secret + '\n']) {
    assert.throws(() => verifyWebhook(bad, signed('x'), 'x'), TypeError, JSON.stringify(bad))
  }
})
