import assert from 'node:assert/strict'
import { type IncomingMessage, type ServerResponse } from 'node:http'
import { test, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Client, type ClientOptions, FoliotError, ProblemError, TransportError } from '../src/index.js'
import { maxBytes } from '../src/coalescer.js'
import { failure, listen } from './server.js'

interface Item {
  create?: { name: string }
  put?: { name: string }
  cancel?: string
  touch?: string
  key?: string
  if_match?: string
}

interface Request {
  path: string
  calls: Item[] | undefined // of a batch
  response: ServerResponse
}

const spec = (name: string) => ({ name, delay: '1h', http: { url: 'http://127.0.0.1:9/' } })
const nameOf = (item: Item) => item.create?.name ?? item.put?.name ?? item.cancel ?? item.touch ?? ''
const task = (name: string) => ({ id: 'id-' + name, version: 1, name, state: 'scheduled' })
const reply = (response: ServerResponse, status: number, body: unknown) => response.writeHead(status, { 'Content-Type': status < 300 ? 'application/json' : 'application/problem+json' }).end(JSON.stringify(body))

/** A server that answers when the test says so. */
async function held(options: ClientOptions = {}) {
  const requests: Request[] = []
  const { url } = await listen((request: IncomingMessage, response, body) => {
    const batch = request.url === '/v1/tasks/batch'
    requests.push({ path: request.method + ' ' + request.url, calls: batch ? (JSON.parse(String(body)) as { calls: Item[] }).calls : undefined, response })
  })
  const client = new Client(url, { retry: { minBackoff: 1 }, ...options })
  return {
    client,
    requests,
    /** Returns the requests from one number on, as soon as there are as many. */
    async next(from: number, count = 1): Promise<Request[]> {
      while (requests.length < from + count) await setImmediate()
      return requests.slice(from, from + count)
    },
    /** Answers a request as a server does. */
    answer({ calls, response }: Request, result = (item: Item): unknown => ({ status: 201, task: task(nameOf(item)) })) {
      if (calls) reply(response, 200, { results: calls.map(result) })
      else reply(response, 200, task('alone'))
    },
  }
}

/** No request is slow in this test, however slow this machine is. */
const freeze = (t: TestContext) => t.mock.method(performance, 'now', () => 0)

/** Starts 4 calls that go out alone, and then others. */
async function fill(server: Awaited<ReturnType<typeof held>>, calls: Array<() => Promise<unknown>>) {
  const alone = [1, 2, 3, 4].map((n) => server.client.tasks.create(spec('alone-' + n)))
  const others = calls.map((call) => call())
  for (const other of [...alone, ...others]) other.catch(() => {}) // the test awaits it later
  return { alone, others, singles: await server.next(0, 4) }
}

test('a lone call uses its own route, and calls that wait for others share a request', async (t) => {
  freeze(t)
  const server = await held()
  const { tasks } = server.client
  const { alone, others, singles } = await fill(server, [
    () => tasks.create(spec('a'), { key: 'message-1' }), () => tasks.put('b', { delay: '1h' }, { ifMatch: '"1.1"' }), () => tasks.cancel('c'), () => tasks.touch('d', { ifMatch: '"2.2"' }),
    () => tasks.create({ delay: new Date(NaN) as never }),
  ])
  assert.deepEqual(singles.map((request) => request.path), Array(4).fill('POST /v1/tasks'))
  server.answer(singles[0]!)
  const [batch] = await server.next(4)
  assert.equal(batch!.path, 'POST /v1/tasks/batch')
  assert.deepEqual(batch!.calls, [
    { create: spec('a'), key: 'message-1' }, { put: { delay: '1h', name: 'b' }, key: batch!.calls![1]!.key, if_match: '"1.1"' }, { cancel: 'c' }, { touch: 'd', if_match: '"2.2"' },
  ])
  assert.match(batch!.calls![1]!.key!, /^[0-9a-f-]{36}$/)
  server.answer(batch!, (item) => {
    if (item.cancel) return { status: 202, task: { ...task('c'), under_way: true } }
    return item.touch ? { status: 412, code: 'precondition_failed', detail: 'it has another version', field: 'If-Match', id: 'x', state: 'dead' } : { status: 201, task: task(nameOf(item)) }
  })
  assert.deepEqual(await others[0], { ...task('a'), etag: '"id-a.1"' })
  assert.deepEqual(await others[1], { ...task('b'), etag: '"id-b.1"' })
  assert.deepEqual(await others[2], { task: { ...task('c'), under_way: true, etag: '"id-c.1"' }, underWay: true, already: false })
  const error = await failure(ProblemError, others[3]!)
  assert.deepEqual([error.op, error.status, error.code, error.field, error.maybeApplied], ['touch d', 412, 'precondition_failed', 'If-Match', false])
  assert.deepEqual([error.problem?.id, error.problem?.state], ['x', 'dead'])
  await failure(TypeError, others[4]!)
  for (const single of singles.slice(1)) server.answer(single)
  await Promise.all(alone)
  const mismatch = tasks.put('e', spec('another'))
  const [own] = await server.next(5)
  assert.equal(own!.path, 'PUT /v1/tasks/e', 'the server must see both names')
  server.answer(own!)
  await mismatch
})

test('without batching each call has a request of its own', async () => {
  const server = await held({ batching: false })
  const calls = Array.from({ length: 20 }, (_, i) => server.client.tasks.create(spec('own-' + i)))
  for (const request of await server.next(0, 20)) {
    assert.equal(request.path, 'POST /v1/tasks')
    server.answer(request)
  }
  await Promise.all(calls)
})

test('a call that waits goes out after 100 ms, although no request has ended', async () => {
  const server = await held()
  const { alone, others, singles } = await fill(server, [() => server.client.tasks.cancel('late')])
  const [request] = await server.next(4)
  assert.equal(request!.path, 'DELETE /v1/tasks/late')
  for (const one of [request!, ...singles]) server.answer(one)
  await Promise.all([...alone, ...others])
})

test('a signal ends a call at once: before it is sent, and while it is under way with others', async (t) => {
  freeze(t)
  const server = await held()
  const { tasks } = server.client
  const [early, late] = [new AbortController(), new AbortController()]
  const { others, singles } = await fill(server, [
    () => tasks.create(spec('early'), { signal: early.signal }), () => tasks.create(spec('late'), { signal: late.signal }), () => tasks.create(spec('stays')),
  ])
  early.abort(new RangeError('not needed'))
  assert.equal((await failure(RangeError, others[0]!)).message, 'not needed')
  server.answer(singles[0]!)
  const [batch] = await server.next(4)
  assert.deepEqual(batch!.calls!.map(nameOf), ['late', 'stays'])
  late.abort(new RangeError('no time'))
  await failure(RangeError, others[1]!)
  server.answer(batch!)
  assert.equal(((await others[2]) as { name: string }).name, 'stays')
  for (const single of singles.slice(1)) server.answer(single)
})

test('an item that the server cannot accept now is repeated, with its own key, and the others are not', async (t) => {
  freeze(t)
  const server = await held()
  const { others, singles } = await fill(server, ['a', 'b'].map((name) => () => server.client.tasks.create(spec(name), { key: name })))
  server.answer(singles[0]!)
  const [batch] = await server.next(4)
  server.answer(batch!, (item) => (nameOf(item) === 'a' ? { status: 201, task: task('a') } : { status: 429, code: 'rate_exceeded', detail: 'too many', retry_after: 0.01 }))
  await others[0]
  const [again] = await server.next(5)
  assert.equal(again!.path, 'POST /v1/tasks')
  for (const one of [again!, ...singles.slice(1)]) server.answer(one)
  await others[1]
})

test('a batch that fails is divided, so that one call cannot fail the others for ever', async (t) => {
  freeze(t)
  for (const status of [400, 413, 422, 500, 503, 0]) {
    const sizes: number[] = []
    const { url } = await listen((request, response, body) => {
      const calls = request.url === '/v1/tasks/batch' ? (JSON.parse(String(body)) as { calls: Item[] }).calls : [{ create: JSON.parse(String(body)) as { name: string } }]
      if (calls.some((item) => nameOf(item).startsWith('alone'))) return setTimeout(() => reply(response, 201, task('alone')), 20)
      sizes.push(calls.length)
      if (!calls.some((item) => nameOf(item) === 'poison')) {
        return request.url === '/v1/tasks/batch' ? reply(response, 200, { results: calls.map((item) => ({ status: 201, task: task(nameOf(item)) })) }) : reply(response, 201, task('x'))
      }
      if (status === 0) return request.socket.destroy()
      return reply(response, status, { code: 'fault', detail: 'a fault of the test', status, title: '', type: '' })
    })
    const { tasks } = new Client(url, { retry: { attempts: [503, 0].includes(status) ? 6 : 2, minBackoff: 1, maxBackoff: 5 } })
    const calls = Array.from({ length: 20 }, (_, i) => tasks.create(spec(i < 4 ? 'alone-' + i : i === 7 ? 'poison' : 'good-' + i)).catch((error: unknown) => error))
    const outcomes = await Promise.all(calls)
    const failed = outcomes.flatMap((outcome, i) => (outcome instanceof FoliotError ? [i] : []))
    assert.deepEqual(failed, [7], `status ${status}: ${sizes}`)
    const error = outcomes[7]
    assert.ok(error instanceof FoliotError && error.op === 'create poison')
    assert.equal(error.maybeApplied, status === 0 || status >= 500)
  }
})

test('a call that must not be repeated gets the error of its batch', async (t) => {
  freeze(t)
  const server = await held()
  const { others, singles } = await fill(server, [() => server.client.tasks.cancel('a', { ifMatch: '"1.1"' }), () => server.client.tasks.cancel('b')])
  server.answer(singles[0]!)
  const [batch] = await server.next(4)
  batch!.response.destroy()
  const error = await failure(TransportError, others[0]!)
  assert.deepEqual([error.op, error.maybeApplied], ['cancel a', true])
  const [again] = await server.next(5)
  for (const one of [again!, ...singles.slice(1)]) server.answer(one)
  await others[1]
})

test('a batch of results that do not fit the calls is a ProblemError', async () => {
  for (const results of [[], [{ status: 201, task: task('a') }], [7, null], [{ status: 201 }, { status: '201', task: {} }], [{ status: 409 }, {}]]) {
    const { url } = await listen((request, response) => (request.url === '/v1/tasks/batch' ? reply(response, 200, { results }) : reply(response, 201, task('x'))))
    const outcomes = await new Client(url, { retry: { attempts: 1 } }).tasks.createMany([spec('a'), spec('b')])
    for (const { error } of outcomes) {
      assert.ok(error instanceof ProblemError && error.maybeApplied, JSON.stringify(results))
      assert.match(error.message, /^create [ab]: .* without a Foliot reply: is it a Foliot server\?$/)
    }
  }
})

test('many tasks are sent in batches of 1000 and 8 MiB, and one that is too large is sent alone', async () => {
  const sizes: number[] = []
  const { url } = await listen((request, response, body) => {
    const calls = request.url === '/v1/tasks/batch' ? (JSON.parse(String(body)) as { calls: Item[] }).calls : undefined
    sizes.push(calls?.length ?? 0)
    if (calls) reply(response, 200, { results: calls.map((item) => ({ status: 201, task: task(nameOf(item)) })) })
    else if (body.length < maxBytes) reply(response, 201, task('alone'))
    else reply(response, 413, { code: 'request_too_large', detail: 'too large', status: 413, title: '', type: '' })
  })
  const tasks = Array.from({ length: 1003 }, (_, i) => ({ ...spec('n-' + i), http: { url: 'http://127.0.0.1:9/', body: i === 1001 ? 'x'.repeat(9 << 20) : 'y' } }))
  const results = await new Client(url).tasks.createMany(tasks)
  assert.deepEqual(sizes, [1000, 0, 0, 0])
  assert.deepEqual(results.flatMap(({ error }, i) => (error ? [i] : [])), [1001])
})

test('the variables of the commands make a client', async () => {
  const seen: Array<string | undefined> = []
  const { url } = await listen((request, response) => {
    seen.push(request.headers.authorization, String(request.headers['foliot-namespace']))
    reply(response, 200, {})
  })
  const names = ['FOLIOT_SERVER', 'FOLIOT_TOKEN', 'FOLIOT_NAMESPACE'] as const
  const before = names.map((name) => process.env[name])
  try {
    Object.assign(process.env, { FOLIOT_SERVER: url, FOLIOT_TOKEN: 'secret', FOLIOT_NAMESPACE: 'shop' })
    await Client.fromEnv().whoami()
    await Client.fromEnv({ namespace: 'other' }).whoami()
  } finally {
    names.forEach((name, i) => {
      if (before[i] === undefined) delete process.env[name]
      else process.env[name] = before[i]
    })
  }
  assert.deepEqual(seen, ['Bearer secret', 'shop', 'Bearer secret', 'other'])
})
