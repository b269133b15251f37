import assert from 'node:assert/strict'
import { type IncomingHttpHeaders } from 'node:http'
import { test } from 'node:test'
import { Client, webhook } from '../src/index.js'
import { failure, Foliot, listen } from './server.js'

const secret = 'whsec_' + Buffer.alloc(32, 7).toString('base64')
const other = 'whsec_' + Buffer.alloc(32, 8).toString('base64')

function signed(body: string, { id = 'task-1', at = Math.floor(Date.now() / 1000), by = [secret] } = {}): Record<string, string> {
  return { 'webhook-id': id, 'webhook-timestamp': String(at), 'webhook-signature': webhook.sign(by, id, new Date(at * 1000), body), 'content-length': String(body.length) }
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
    assert.equal(webhook.verify(secrets, full.headers, full.body).id, made.id)
  }
  assert.equal(webhook.verify(first, new Headers(full.headers as Record<string, string>), new Uint8Array(full.body)).id, made.id)
  assert.equal(webhook.verify(first, full.headers, full.body.toString()).id, made.id)
  assert.equal(webhook.verify(first, full.headers, new Uint8Array(full.body).buffer).id, made.id)
  for (const body of ['', Buffer.alloc(0), new ArrayBuffer(0)]) assert.equal(webhook.verify(first, bare.headers, body).id, empty.id)
  assert.throws(() => webhook.verify(other, full.headers, full.body), webhook.UntrustedError)
  assert.throws(() => webhook.verify(first, full.headers, Buffer.concat([full.body, Buffer.from(' ')])), webhook.UntrustedError)
  assert.throws(() => webhook.verify(first, full.headers, ''), /bytes of the body are gone/)
  assert.throws(() => webhook.verify(first, { ...full.headers, 'webhook-id': 'another' }, full.body), webhook.UntrustedError)
  assert.throws(() => webhook.verify(first, { ...bare.headers, 'content-type': 'multipart/form-data' }, ''), /bytes of the body are gone/)
})

test('a body without its bytes is refused, also with the signature of a callback without a body', () => {
  const { 'content-length': _, ...headers } = signed('') // as HTTP/2 has them
  assert.equal(webhook.verify(secret, headers, '').id, 'task-1')
  const parsed = [{ pay: 1_000_000 }, {}, [], new String('forged'), 5, true, null, undefined, new DataView(new ArrayBuffer(6)), new Uint16Array(3), new SharedArrayBuffer(6)]
  for (const body of parsed) {
    assert.throws(() => webhook.verify(secret, headers, body as never), { name: 'TypeError', message: /^invalid body: expected the raw bytes that arrived/ }, String(body))
  }
  assert.throws(() => webhook.verify(secret, { ...headers, 'transfer-encoding': 'chunked' }, ''), /bytes of the body are gone/)
  for (const body of ['forged', Buffer.from('forged'), new Uint8Array(6), new ArrayBuffer(6)]) {
    assert.throws(() => webhook.verify(secret, headers, body), /no signature matches/)
  }
})

test('old callbacks and those from the future are refused, within the tolerance they are not', () => {
  const now = Math.floor(Date.now() / 1000)
  for (const [at, tolerance, valid] of [[now - 290, undefined, true], [now - 310, undefined, false], [now + 310, undefined, false], [now - 310, 400, true], [now - 20, 10, false]] as const) {
    const verify = () => webhook.verify(secret, signed('x', { at }), 'x', tolerance === undefined ? {} : { tolerance })
    if (valid) assert.equal(verify().timestamp.getTime(), at * 1000)
    else assert.throws(verify, /too old, or from the future/)
  }
})

test('an infinite tolerance accepts any time, and an invalid one is an error of the program', () => {
  for (const at of [0, 99_999_999_999]) {
    assert.equal(webhook.verify(secret, signed('x', { at }), 'x', { tolerance: Infinity }).timestamp.getTime(), at * 1000)
  }
  for (const tolerance of [NaN, -1, -Infinity, '300', null] as number[]) {
    assert.throws(() => webhook.verify(secret, signed('x'), 'x', { tolerance }), { name: 'TypeError', message: /^invalid tolerance .*: expected seconds/ })
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
    assert.throws(() => webhook.verify(secret, { ...good, ...change }, 'x'), webhook.UntrustedError, JSON.stringify(change))
  }
  for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
    assert.throws(() => webhook.verify(secret, { ...good, [name]: undefined }, 'x', { tolerance: Infinity }), webhook.UntrustedError, name)
  }
  assert.equal(webhook.verify(secret, { ...good, 'webhook-signature': 'v2,abc ' + good['webhook-signature'] }, 'x').id, 'task-1')
  assert.equal(webhook.verify(secret, Object.fromEntries(Object.entries(good).map(([name, value]) => [name.toUpperCase(), value])), 'x').id, 'task-1')
})

test('an id that HTTP cannot transfer is refused', () => {
  for (const id of ['\ud800', '\u65e5', 'a b', 'a\n']) {
    assert.throws(() => webhook.verify(secret, { ...signed('x'), 'webhook-id': id }, 'x'), { name: 'UntrustedError', message: /webhook-id is missing or invalid/ }, JSON.stringify(id))
    assert.throws(() => signed('x', { id }), { name: 'TypeError', message: /^invalid id/ }, JSON.stringify(id))
  }
})

test('a missing or invalid secret is an error of the program, not of the callback', () => {
  for (const bad of [[], '', 'whsec_', 'whsec_short', secret.slice(6), [secret, 'whsec_%%%'], secret.replace('=', ''), secret.replace('=', '=='), secret.replace('c=', 'd='), secret + '\n']) {
    assert.throws(() => webhook.verify(bad, signed('x'), 'x'), TypeError, JSON.stringify(bad))
  }
})

test('the event has what the headers say, and nothing of malformed ones', () => {
  const says = {
    'Foliot-Task': 'order-42', 'Foliot-Queue': 'mail', 'Foliot-Due-At': '2030-01-02T03:04:05.678Z', 'Foliot-Schedule': 'report',
    'Foliot-Instant': '2030-01-02T03:04:00.000Z', 'Foliot-Attempt': '3', 'Foliot-Max-Attempts': '8',
  }
  const { timestamp, body, ...event } = webhook.verify(secret, { ...signed('x'), ...says }, 'x')
  assert.deepEqual(event, {
    id: 'task-1', task: 'order-42', queue: 'mail', dueAt: new Date('2030-01-02T03:04:05.678Z'), schedule: 'report',
    instant: new Date('2030-01-02T03:04:00Z'), attempt: 3, maxAttempts: 8,
  })
  assert.equal(Buffer.from(body).toString(), 'x')
  for (const [due, attempt] of [[undefined, undefined], ['soon', '-1'], ['2030-13-01T00:00:00Z', '1e3'], ['', '9'.repeat(20)]]) {
    const bare = webhook.verify(secret, { ...signed('x'), 'foliot-due-at': due, 'foliot-attempt': attempt }, 'x')
    assert.deepEqual([bare.dueAt, bare.attempt, bare.task, bare.instant], [undefined, 0, '', undefined])
  }
})

test('the signature is that of Standard Webhooks, and the clock can be given', () => {
  const key = 'whsec_' + Buffer.from('0123456789abcdef01234567').toString('base64')
  const at = new Date(1_700_000_000_999)
  const signature = webhook.sign([key, secret], 'msg_1', at, '{"a":1}')
  assert.equal(signature.split(' ')[0], 'v1,WUgAXU8H0NQ1/7M+TtMwKma2b74a3/TCgekiM3YUdN8=')
  const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': '1700000000', 'webhook-signature': signature }
  assert.equal(webhook.verify(secret, headers, '{"a":1}', { now: at }).id, 'msg_1')
  assert.throws(() => webhook.verify(secret, headers, '{"a":1}'), /too old/)
  assert.throws(() => webhook.verify(secret, headers, '{"a":1}', { now: new Date(NaN) }), { name: 'TypeError' })
  webhook.checkSecret(secret)
  assert.throws(() => webhook.checkSecret('whsec_x'), { name: 'TypeError', message: /^invalid secret: expected whsec_/ })
})

test('a request is read and verified, up to a size, and not if its body was read before', async () => {
  const bodies = ['', 'x'.repeat(100), 'x'.repeat(1 << 20)]
  for (const body of bodies) {
    const request = () => new Request('http://127.0.0.1/', { method: 'POST', headers: signed(body), body })
    assert.equal((await webhook.read(secret, request())).body.length, body.length)
    const used = request()
    await used.text()
    assert.match((await failure(webhook.UntrustedError, webhook.read(secret, used))).message, /bytes of the body are gone/)
    if (body) assert.match((await failure(webhook.UntrustedError, webhook.read(secret, request(), { maxBody: body.length - 1 }))).message, /longer than/)
  }
  const got: string[] = []
  const { url } = await listen((request, response, body) => {
    const again = Object.assign(body.length > 0 ? (async function* () { yield body })() : (async function* () {})(), { headers: request.headers })
    webhook.read(secret, again, { maxBody: 200 }).then((event) => got.push(event.id), (error: Error) => got.push(error.name)).finally(() => response.end())
  })
  await fetch(url, { method: 'POST', headers: signed(bodies[1]!), body: bodies[1]! })
  await fetch(url, { method: 'POST', headers: signed(bodies[1]!), body: 'y'.repeat(100) })
  await fetch(url, { method: 'POST', headers: signed(bodies[2]!), body: bodies[2]! })
  assert.deepEqual(got, ['task-1', 'UntrustedError', 'UntrustedError'])
})
