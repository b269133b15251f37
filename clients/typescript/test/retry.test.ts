import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type IncomingMessage, request as forward, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { Client, ProblemError, TransportError } from '../src/index.js'
import { failure, Foliot, listen } from './server.js'

let server: Foliot

before(async () => {
  server = await Foliot.start()
})

const spec = { delay: '1h', http: { url: 'http://127.0.0.1:9/' } }

/** A server in front of foliot. For each request it takes the next fault; without one it forwards. */
async function front(faults: Array<(request: IncomingMessage, response: ServerResponse) => void>) {
  const requests: IncomingMessage[] = []
  const { url } = await listen((request, response, body) => {
    requests.push(request)
    const fault = faults.shift()
    if (fault) return fault(request, response)
    const target = new URL(request.url!, server.url)
    const sent = forward(target, { method: request.method, headers: { ...request.headers, host: target.host } }, (reply) => {
      response.writeHead(reply.statusCode!, reply.headers)
      reply.pipe(response)
    })
    sent.end(body)
  })
  return { client: new Client(url, { retry: { minBackoff: 5 } }), requests }
}

const refuse = (status: number, headers: Record<string, string> = {}) => (_: IncomingMessage, response: ServerResponse) => {
  const problem = { type: 'about:blank', title: 'Unavailable', status, code: 'unavailable', detail: 'the server is stopping' }
  response.writeHead(status, { 'Content-Type': 'application/problem+json', ...headers }).end(JSON.stringify(problem))
}
const hangUp = (request: IncomingMessage) => request.socket.destroy()

test('a create is repeated after 503 and a lost reply, with one idempotency key', async () => {
  const { client, requests } = await front([refuse(503), hangUp, refuse(504)])
  const made = await client.tasks.create({ ...spec, name: 'repeated' })
  assert.equal(made.state, 'scheduled')
  assert.equal(requests.length, 4)
  const keys = new Set(requests.map((request) => request.headers['idempotency-key']))
  assert.equal(keys.size, 1)
  assert.ok(![...keys].includes(undefined))
})

test('Retry-After is waited for', async () => {
  const { client, requests } = await front([refuse(503, { 'Retry-After': '1' })])
  const began = Date.now()
  await client.tasks.page()
  assert.equal(requests.length, 2)
  assert.ok(Date.now() - began >= 1000)
})

test('a Retry-After above the limit ends the call', async () => {
  const { client, requests } = await front([refuse(503, { 'Retry-After': '60' })])
  const error = await failure(ProblemError, client.tasks.page())
  assert.deepEqual([error.retryAfter, requests.length], [60_000, 1])
})

test('requests that are not idempotent are never repeated if they may have arrived', async () => {
  const calls: Array<[string, (client: Client) => Promise<unknown>]> = [
    ['patch', (c) => c.tasks.patch('x', { queue: 'other' })],
    ['move', (c) => c.tasks.move('x', { delay: '1h' })],
    ['run', (c) => c.tasks.run('x')],
    ['retry', (c) => c.tasks.retry('x')],
    ['cancel with a condition', (c) => c.tasks.cancel('x', { ifMatch: '"1.1"' })],
    ['touch with a condition', (c) => c.tasks.touch('x', { ifMatch: '"1.1"' })],
    ['cancel matching', (c) => c.tasks.cancelMatching({ all: true })],
    ['retry matching', (c) => c.tasks.retryMatching({ all: true })],
    ['move matching', (c) => c.tasks.moveMatching({ all: true }, { by: '1h' })],
    ['delete a schedule', (c) => c.schedules.delete('x')],
    ['put a schedule with a condition', (c) => c.schedules.put('x', { every: '1m', task: {} }, { ifNoneMatch: '*' })],
    ['delete a queue', (c) => c.queues.delete('x')],
    ['purge', (c) => c.queues.purge('x')],
  ]
  for (const [name, call] of calls) {
    for (const fault of [refuse(503), hangUp]) {
      const { client, requests } = await front([fault])
      const error = await call(client).then(() => undefined, (e: unknown) => e)
      assert.equal(requests.length, 1, name)
      assert.ok((error instanceof ProblemError || error instanceof TransportError) && error.maybeApplied, name)
    }
  }
})

test('a request that certainly did not arrive is repeated', async () => {
  await front([]).then(({ client }) => client.tasks.create({ ...spec, name: 'late' }))
  const { client, requests } = await front([refuse(429)])
  await client.tasks.patch('late', { priority: 'low' })
  assert.equal(requests.length, 2)
})

test('a redirect is not followed, and another server is named as such', async () => {
  const { client, requests } = await front([
    (_, response) => response.writeHead(302, { Location: 'http://127.0.0.1:9/' }).end(),
    (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<html>'),
  ])
  assert.equal((await failure(ProblemError, client.tasks.page())).status, 302)
  assert.match((await failure(ProblemError, client.tasks.page())).message, /is it a Foliot server/)
  assert.equal(requests.length, 2)
})

test('a call ends with the reason of its signal, and with the timeout', async () => {
  const { url } = await listen(() => {}) // never replies
  const client = new Client(url, { timeout: 50, retry: { attempts: 2, minBackoff: 1 } })
  const slow = await failure(TransportError, client.tasks.page())
  assert.match(slow.message, /timed out/)
  const stop = new AbortController()
  const waiting = failure(RangeError, new Client(url).tasks.get('x', { signal: stop.signal }))
  stop.abort(new RangeError('the user left'))
  assert.equal((await waiting).message, 'the user left')
})

test('a server that does not run is a TransportError, and nothing was applied', async () => {
  const { url, server: http } = await listen(() => {})
  http.close()
  const error = await failure(TransportError, new Client(url, { retry: { attempts: 2, minBackoff: 1 } }).tasks.patch('x', { queue: 'other' }))
  assert.equal(error.maybeApplied, false)
})

test('an error before the first byte of a request means that nothing was applied', async () => {
  const blocked = await failure(TransportError, new Client('http://127.0.0.1:9', { retry: { attempts: 2, minBackoff: 1e9 } }).tasks.patch('x', { queue: 'other' }))
  assert.deepEqual([blocked.permanent, blocked.maybeApplied], [true, false], 'fetch blocks port 9')
  const system = (code: string, syscall: string) => Object.assign(new Error(`${syscall} ${code}`), { code, syscall })
  const causes: Array<[unknown, boolean]> = [
    [system('EMFILE', 'connect'), false], [system('EADDRNOTAVAIL', 'connect'), false], [system('ENODATA', 'getaddrinfo'), false], [system('ETIMEDOUT', 'read'), true],
    [new AggregateError([system('EMFILE', 'connect'), system('ECONNRESET', 'read')]), true], [new AggregateError([]), true],
  ]
  for (const [cause, maybeApplied] of causes) {
    const error = new TransportError('get x', 'http://127.0.0.1', new TypeError('fetch failed', { cause }))
    assert.deepEqual([error.maybeApplied, error.permanent], [maybeApplied, false], String(cause))
  }
  for (const cause of [undefined, null, '', 7]) {
    const client = new Client('http://127.0.0.1', { fetch: () => Promise.reject(cause), retry: { attempts: 1 } })
    assert.equal((await failure(TransportError, client.tasks.page())).maybeApplied, true, String(cause))
  }
})

test('a TLS handshake that fails means that nothing was applied, so each call is repeated', async (t) => {
  let connections = 0
  const tcp = createServer((socket) => {
    connections++
    socket.once('data', () => socket.end()) // the first message of the handshake
  }).listen(0, '127.0.0.1')
  t.after(() => tcp.close())
  await once(tcp, 'listening')
  const client = new Client('https://127.0.0.1:' + (tcp.address() as AddressInfo).port, { retry: { attempts: 3, minBackoff: 1 } })
  const error = await failure(TransportError, client.tasks.patch('x', { queue: 'other' }))
  assert.deepEqual([error.maybeApplied, error.permanent, connections], [false, false, 3], error.message)
})

test('a signal with a timeout ends a wait: the first request, a later one, and a pause', async () => {
  const silent = () => {}
  const known = (_: IncomingMessage, response: ServerResponse) => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"id":"1","state":"scheduled"}')
  for (const faults of [[silent], [known, silent], [known, refuse(503, { 'Retry-After': '9' })]]) {
    const { client } = await front(faults)
    const began = Date.now()
    const error = await failure(DOMException, client.tasks.wait('x', { signal: AbortSignal.timeout(100) }))
    assert.equal(error.name, 'TimeoutError')
    assert.ok(Date.now() - began < 5000)
  }
})

test('calls go on across a restart of the server, and no task is lost', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'foliot-restart-'))
  let one = await Foliot.start('127.0.0.1:0', directory)
  const client = new Client(one.url, { retry: { attempts: 40, maxBackoff: 250 } })
  await client.tasks.create({ ...spec, name: 'survives' })
  const waiting = client.tasks.wait('survives')
  await one.stop()
  const making = client.tasks.create({ ...spec, name: 'made-meanwhile' })
  one = await Foliot.start(new URL(one.url).host, directory)
  assert.equal((await making).state, 'scheduled')
  await client.tasks.cancel('survives')
  assert.equal((await waiting).state, 'cancelled')
  await one.stop()
  await rm(directory, { recursive: true })
})

test('an invalid server, token or name is refused before anything is sent', () => {
  assert.throws(() => new Client('foliot.internal'), /expected a URL/)
  assert.throws(() => new Client('http://user:secret@127.0.0.1'), /set the option token/)
  assert.throws(() => new Client(server.url, { token: 'two words' }), /invalid token/)
  assert.throws(() => new Client(server.url).tasks.get('..'), /invalid name/)
})

test('a token is sent, and a server without it refuses the call', async () => {
  const own = await Foliot.start()
  const token = own.command('token', 'create', '--scope', 'admin', '--for', 'operator')
  assert.equal((await new Client(own.url, { token }).whoami()).secured, true)
  const error = await failure(ProblemError, new Client(own.url).whoami())
  assert.deepEqual([error.status, error.code], [401, 'token_required'])
})
