import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'
import { Client } from '../src/index.js'
import { failure, listen } from './server.js'

let client: Client
let requests = 0

before(async () => {
  const { url } = await listen((_, response) => {
    requests++
    response.writeHead(503).end()
  })
  client = new Client(url, { retry: { attempts: 3, minBackoff: 1 } })
})
beforeEach(() => {
  requests = 0
})

const url = 'http://127.0.0.1:9/'
const unsendable = { delay: '1h', http: { url, body: { at: new Date(NaN) } } }
const small = { delay: '1h', http: { url } }

test('an error before anything is sent is thrown as it is', async () => {
  const circular: Record<string, unknown> = {}
  circular['self'] = circular
  const calls: Array<[RegExp, () => Promise<unknown>]> = [
    [/invalid Date/, () => client.tasks.create(unsendable)],
    [/invalid Date/, () => client.tasks.put('x', unsendable)],
    [/invalid Date/, () => client.tasks.patch('x', unsendable)],
    [/invalid Date/, () => client.tasks.page({ due_before: new Date(NaN) })],
    [/invalid Date/, () => client.schedules.put('x', { every: '1m', task: unsendable })],
    [/^move x: pass/, () => client.tasks.move('x', {} as never)],
    [/^move x: pass/, () => client.tasks.move('x', undefined as never)],
    [/circular/, () => client.tasks.create({ ...small, http: { url, body: circular } })],
    [/invalid header name/, () => client.tasks.publish({ url, headers: { 'X Shop': 'a' } })],
    [/invalid value of the header Foliot-Forward-X-Shop/, () => client.tasks.publish({ url, headers: { 'X-Shop': 'a\nb' } })],
    [/invalid value of the header Foliot-Forward-X-Shop/, () => client.tasks.publish({ url, headers: { 'X-Shop': '\u65e5' } })],
    [/invalid value of the header Idempotency-Key/, () => client.tasks.create(small, { key: 'a\r\nb' })],
    [/invalid value of the header If-Match/, () => client.tasks.cancel('x', { ifMatch: '"\u65e5"' })],
    [/^cancel x: there is no option "key": expected ifMatch, signal/, () => client.tasks.cancel('x', { key: 'a' } as never)],
    [/^create a task: there is no option "idempotencyKey"/, () => client.tasks.create(small, { idempotencyKey: 'a' } as never)],
    [/^create a task: there is no option "until"/, () => client.tasks.createMany([small], { until: 'a' } as never)],
    [/invalid name "undefined"/, async () => client.tasks.putMany([small as never])],
    [/invalid body/, () => client.tasks.publish({ url, body: new ReadableStream() as never })],
    [/invalid body/, () => client.tasks.publish({ url, body: { order: 42 } as never })],
  ]
  for (const [message, call] of calls) {
    const error = await failure(TypeError, call())
    assert.match(error.message, message, String(call))
    assert.equal(requests, 0, String(call))
  }
})

test('a task that JSON cannot encode stops many before its first request', async () => {
  const tasks = [...Array.from({ length: 1001 }, () => small), unsendable]
  assert.match((await failure(TypeError, client.tasks.createMany(tasks))).message, /invalid Date/)
  assert.equal(requests, 0)
})

test('an option that cannot be sent is refused when the client is made', () => {
  for (const value of ['a\nb', 'a\0', '\u65e5', '\ud800']) {
    assert.throws(() => new Client(url, { namespace: value }), { name: 'TypeError', message: /^invalid namespace: / })
    assert.throws(() => new Client(url, { userAgent: value }), { name: 'TypeError', message: /^invalid userAgent: / })
  }
  assert.throws(() => new Client(url, { fetch: 'node-fetch' as never }), /invalid fetch/)
  new Client(url, { namespace: 'shop', userAgent: 'Bücher/1 (x)' })
})
