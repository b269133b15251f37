import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Client, ProblemError, ReplacedError } from '../src/index.js'
import { all, failure, Foliot, listen } from './server.js'

interface Document {
  paths: Record<string, Record<string, { operationId: string; tags?: string[] }>>
}

let server: Foliot
let receiver: { url: string }
let client: Client
let status = 200
const bodies: string[] = []
const seen: string[] = [] // method and path of each request

before(async () => {
  server = await Foliot.start()
  receiver = await listen((_, response, body) => {
    bodies.push(String(body))
    response.writeHead(status).end()
  })
  client = new Client(server.url, {
    fetch: (input, init) => {
      seen.push(init?.method + ' ' + new URL(String(input)).pathname)
      return fetch(input, init)
    },
  })
})

const http = () => ({ url: receiver.url + '/hook', body: { order: 42 } })

test('a task is created, waited for, and delivered', async () => {
  const made = await client.tasks.create({ name: 'order-1', delay: '50ms', http: http(), labels: { shop: 'a' } })
  assert.equal(made.name, 'order-1')
  const done = await client.tasks.wait('order-1')
  assert.equal(done.state, 'delivered')
  assert.deepEqual(JSON.parse(bodies.at(-1)!), { order: 42 })
})

test('a Date is a time, and a BigInt a number with all its digits', async () => {
  const { tasks } = client
  const due = new Date('2030-01-02T03:04:05Z')
  const text = '2030-01-02T03:04:05.000Z'
  const large = 12345678901234567890n
  const made = await tasks.put('typed', { at: due, http: { ...http(), body: { large } }, retry: { max_attempts: 3 } })
  assert.equal(made.due_at, text)
  assert.equal((await all(tasks.list({ due_after: new Date(due.getTime() - 1), due_before: new Date(due.getTime() + 1), limit: 10n }))).length, 1)
  assert.equal((await tasks.move('typed', { at: due })).due_at, text)
  assert.equal((await tasks.moveMatching({ prefix: 'typed' }, { at: due })).changed, 1)
  assert.equal((await tasks.createMany([{ at: due, http: http() }]))[0]!.task?.due_at, text)
  assert.equal((await tasks.publish({ url: receiver.url, at: due, retries: 3n })).due_at, text)
  await tasks.run('typed')
  await tasks.wait('typed')
  assert.ok(bodies.includes(`{"large":${large}}`), bodies.at(-1))
})

test('a call that asks for nothing is refused', async () => {
  await client.tasks.put('idle', { delay: '1h', http: http() })
  assert.match((await failure(ProblemError, client.tasks.patch('idle', {}))).message, /a patch must change at least one field/)
})

test('one idempotency key creates one task', async () => {
  const spec = { delay: '1h', http: http() }
  const first = await client.tasks.create(spec, { key: 'message-7' })
  const second = await client.tasks.create(spec, { key: 'message-7' })
  assert.equal(second.id, first.id)
  const third = await client.tasks.create(spec)
  assert.notEqual(third.id, first.id)
})

test('a refusal has the status, the code, the detail and the field', async () => {
  const error = await failure(ProblemError, client.tasks.create({ name: 'bad', delay: '3 parsecs', http: http() }))
  assert.deepEqual([error.status, error.code, error.field, error.maybeApplied], [400, 'bad_duration', 'delay', false])
  assert.ok(error.detail.length > 0)
  assert.match(error.message, /^create bad: delay: /)
  const missing = await failure(ProblemError, client.tasks.get('never-made'))
  assert.deepEqual([missing.status, missing.code, missing.problem?.kind], [404, 'not_found', 'task'])
})

test('a task is put, patched, moved, touched and cancelled', async () => {
  const put = await client.tasks.put('order-2', { delay: '1h', http: http() }, { ifNoneMatch: '*' })
  assert.equal(put.etag, `"${put.id}.${put.version}"`)
  const exists = await failure(ProblemError, client.tasks.put('order-2', { delay: '1h', http: http() }, { ifNoneMatch: '*' }))
  assert.equal(exists.status, 412)
  const patched = await client.tasks.patch('order-2', { labels: { shop: 'b' } }, { ifMatch: put.etag! })
  assert.deepEqual(patched.labels, { shop: 'b' })
  const stale = await failure(ProblemError, client.tasks.patch('order-2', { priority: 'low' }, { ifMatch: put.etag! }))
  assert.equal(stale.code, 'precondition_failed')
  const at = '2035-01-02T03:04:05.678Z'
  assert.equal((await client.tasks.move('order-2', { at })).due_at, at)
  await client.tasks.move('order-2', { delay: '2h' })
  const touched = await client.tasks.touch('order-2')
  const left = Date.parse(touched.due_at) - Date.now()
  assert.ok(left > 3_600_000 && left <= 7_201_000, String(left))
  const cancelled = await client.tasks.cancel('order-2')
  assert.deepEqual([cancelled.task.state, cancelled.underWay, cancelled.already], ['cancelled', false, false])
  assert.equal((await client.tasks.cancel('order-2')).already, true)
})

test('a task is run at once, and a dead task is retried', async () => {
  status = 410
  await client.tasks.create({ name: 'order-3', delay: '1h', http: http() })
  await client.tasks.run('order-3')
  assert.equal((await client.tasks.wait('order-3')).state, 'dead')
  status = 200
  await client.tasks.retry('order-3')
  assert.equal((await client.tasks.get('order-3', { wait: '30s' })).state, 'delivered')
})

test('wait ends if another task takes the name', async () => {
  await client.tasks.create({ name: 'order-4', delay: '1h', http: http() })
  const before = seen.length
  const waiting = failure(ReplacedError, client.tasks.wait('order-4'))
  while (seen.length < before + 2) await setImmediate() // it has read the first task, and waits
  await client.tasks.put('order-4', { delay: '2h', http: http() })
  await client.tasks.cancel('order-4')
  await waiting
})

test('any number of tasks is created, and each one has its result', async () => {
  const tasks = Array.from({ length: 1203 }, (_, i) => ({ name: `many-${i}`, delay: '1h', queue: 'many', http: http() }))
  tasks[5]!.delay = 'soon'
  tasks[1100]!.name = 'many-0'
  const results = await client.tasks.createMany(tasks)
  assert.equal(results.length, tasks.length)
  assert.deepEqual([results[0]!.task?.name, results[1202]!.task?.name], ['many-0', 'many-1202'])
  for (const [i, code, field] of [[5, 'bad_duration', 'delay'], [1100, 'exists', undefined]] as const) {
    const { error } = results[i]!
    assert.ok(error instanceof ProblemError)
    assert.deepEqual([error.code, error.field, error.maybeApplied], [code, field, false])
  }
})

test('many tasks are put and cancelled, each with its own result', async () => {
  const { tasks } = client
  const specs = Array.from({ length: 3 }, (_, i) => ({ name: `own-${i}`, delay: '1h', http: http() }))
  const put = await tasks.putMany([...specs, { name: 'bad name', delay: '1h', http: http() }])
  assert.deepEqual(put.map((result) => result.error === undefined), [true, true, true, false])
  assert.equal(put[1]!.task?.etag, (await tasks.get('own-1')).etag)
  await tasks.cancel('own-2', { ifMatch: put[2]!.task!.etag! })
  const results = await tasks.cancelMany(['own-0', 'own-2', 'never-made'])
  assert.deepEqual(results.map((result) => result.task?.already), [undefined, true, undefined])
  assert.match(results[2]!.error!.message, /^cancel never-made: /)
  assert.deepEqual(await tasks.createMany([]), [])
})

test('calls at the same time share requests, and each has its own result', async () => {
  const { tasks } = client
  const spec = (i: number) => ({ name: `same-${i}`, delay: '1h', http: http() })
  const first = await tasks.create(spec(7), { key: 'key-7' })
  const before = seen.length
  const numbers = Array.from({ length: 40 }, (_, i) => i)
  const made = await Promise.all(numbers.map((i) => tasks.create(spec(i), { key: `key-${i}` })))
  assert.deepEqual(made.map((task) => task.name), numbers.map((i) => `same-${i}`))
  assert.equal(made[7]!.id, first.id, 'a key of a single call is known in a batch')
  assert.ok(seen.slice(before).includes('POST /v1/tasks/batch') && seen.length - before < 20, String(seen.slice(before)))
  assert.equal(made[30]!.etag, (await tasks.get('same-30')).etag)
  assert.equal((await tasks.create(spec(20), { key: 'key-20' })).id, made[20]!.id, 'a key of a batch is known in a single call')
  const mixed = await Promise.allSettled<unknown>([
    ...numbers.slice(0, 8).map((i) => tasks.touch(`same-${i}`)),
    tasks.create(spec(9)), tasks.put('same-10', spec(10), { ifMatch: '"x.1"' }), tasks.put('same-11', { ...spec(11), delay: '2h' }, { ifMatch: made[11]!.etag! }),
    tasks.cancel('same-12', { ifMatch: made[12]!.etag! }), tasks.cancel('never-made'), tasks.create({ ...spec(100), delay: 'soon' }),
  ])
  const codes = mixed.map((one) => (one.status === 'fulfilled' ? '' : one.reason instanceof ProblemError ? one.reason.code : String(one.reason)))
  assert.deepEqual(codes, [...Array<string>(8).fill(''), 'exists', 'precondition_failed', '', '', 'not_found', 'bad_duration'])
  assert.equal((await tasks.get('same-11')).delay, '2h')
  assert.equal((await tasks.get('same-12')).state, 'cancelled')
})

test('a local time has a time zone', async () => {
  const { tasks } = client
  const zone = { at: '2031-03-30 09:00', timezone: 'Europe/Berlin' }
  assert.equal((await tasks.put('local', { ...zone, http: http() })).due_at, '2031-03-30T07:00:00.000Z')
  assert.equal((await tasks.move('local', { at: '2031-12-30T09:00', timezone: 'Europe/Berlin' })).due_at, '2031-12-30T08:00:00.000Z')
  assert.equal((await tasks.createMany([{ ...zone, http: http() }]))[0]!.task?.due_at, '2031-03-30T07:00:00.000Z')
  assert.equal((await tasks.moveMatching({ prefix: 'local' }, zone)).changed, 1)
})

test('a list yields every task of all pages', async () => {
  const names = new Set((await all(client.tasks.list({ queue: 'many', limit: 100 }))).map((task) => task.name))
  assert.equal(names.size, 1201)
  assert.equal((await all(client.tasks.list({ queue: 'many', state: ['dead'] }))).length, 0)
  const page = await client.tasks.page({ queue: 'many', limit: 10, include: 'body' })
  assert.equal(page.tasks.length, 10)
  assert.deepEqual(page.tasks[0]!.http?.body, { order: 42 })
})

test('many tasks are moved, cancelled and retried by a filter', async () => {
  assert.equal((await client.tasks.moveMatching({ queue: 'many', prefix: 'many-1' }, { by: '1h' })).changed, 313)
  assert.equal((await client.tasks.cancelMatching({ queue: 'many', dry_run: true })).matched, 1201)
  const differs = await failure(ProblemError, client.tasks.cancelMatching({ queue: 'many' }, { expect: 3 }))
  assert.deepEqual([differs.code, differs.problem?.count], ['count_differs', 1201])
  assert.equal((await client.tasks.cancelMatching({ queue: 'many' }, { expect: 1201 })).changed, 1201)
  assert.equal((await client.tasks.retryMatching({ queue: 'many' })).changed, 0)
  assert.equal((await failure(ProblemError, client.tasks.cancelMatching({}))).code, 'no_filter')
})

test('a request is published with its body and headers', async () => {
  const made = await client.tasks.publish({
    url: receiver.url + '/forward', body: 'a=1', headers: { 'Content-Type': 'text/csv', 'X-Shop': 'a' }, name: 'forward-1', queue: 'mail', delay: '1h', retries: 2,
  })
  assert.deepEqual([made.name, made.queue, made.retry.max_attempts], ['forward-1', 'mail', 3])
  const { http } = await client.tasks.get('forward-1')
  assert.equal(http?.body, 'a=1')
  const headers = Object.fromEntries(Object.entries(http?.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]))
  assert.deepEqual([headers['content-type'], headers['x-shop']], ['text/csv', 'a'])
  const upcoming = await client.tasks.upcoming({ queue: 'mail', until: '2h' })
  assert.deepEqual(upcoming.items.map((item) => item.name), ['forward-1'])
})

test('a schedule is put, read, listed, previewed, triggered, paused and deleted', async () => {
  const rule = { cron: '0 21 * * MON-FRI', timezone: 'Europe/Berlin' }
  const made = await client.schedules.put('report', { ...rule, task: { http: http(), labels: { shop: 'a' } } }, { ifNoneMatch: '*' })
  assert.equal((await client.schedules.get('report')).etag, made.etag)
  assert.deepEqual((await all(client.schedules.list({ label: ['shop=a'] }))).map((s) => s.name), ['report'])
  const preview = await client.schedules.preview('report', { from: '2030-11-20T00:00:00Z', limit: 1 })
  assert.equal(preview.instants[0]?.local, '2030-11-20T21:00:00+01:00')
  assert.equal((await client.schedules.previewRule(rule, { limit: 3 })).instants.length, 3)
  assert.equal((await client.schedules.trigger('report')).schedule, 'report')
  assert.equal((await client.schedules.pause('report')).paused, true)
  assert.equal((await client.schedules.resume('report')).paused, false)
  const filled = await client.schedules.backfill('report', { from: '2026-01-05T00:00:00Z', until: '2026-01-07T00:00:00Z' })
  assert.deepEqual([filled.instants, filled.created], [2, 2])
  assert.equal((await client.schedules.delete('report')).name, 'report')
})

test('a queue is put, paused, resumed, purged and deleted', async () => {
  const made = await client.queues.put('bulk', { rate: 5, concurrency: 2 })
  assert.ok(made.etag)
  await client.queues.pause('bulk', { until: '2035-01-02T03:04:05Z', ifMatch: made.etag! })
  const paused = await client.queues.get('bulk')
  assert.ok(paused.paused && paused.paused_until)
  assert.ok((await all(client.queues.list({ limit: 1 }))).some((queue) => queue.name === 'bulk'))
  assert.equal((await client.queues.resume('bulk')).paused, false)
  await client.tasks.create({ delay: '1h', queue: 'bulk', http: http() })
  assert.equal((await failure(ProblemError, client.queues.purge('bulk', { expect: 2 }))).code, 'count_differs')
  await client.queues.purge('bulk', { expect: 1 })
  let queue = await client.queues.get('bulk')
  while (queue.purging) queue = await client.queues.get('bulk')
  assert.equal(queue.counts.cancelled, 1)
  await client.queues.delete('bulk')
})

test('the server is described', async () => {
  const me = await client.whoami()
  assert.deepEqual([me.operator, me.secured], [true, false])
})

test('every operation of tasks, schedules and queues has a method, which was called here', async () => {
  const document = (await (await fetch(server.url + '/openapi.json')).json()) as Document
  const templates = Object.keys(document.paths).sort((a, b) => a.split('{').length - b.split('{').length)
  const called = new Set(seen.map((request) => {
    const [method, path] = request.split(' ') as [string, string]
    const template = templates.find((t) => method.toLowerCase() in document.paths[t]! && new RegExp('^' + t.replace(/\{\w+\}/g, '[^/]+') + '$').test(path))
    return document.paths[template!]![method.toLowerCase()]!.operationId
  }))
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path)).filter(({ tags }) => tags?.some((tag) => ['tasks', 'schedules', 'queues'].includes(tag)))
  assert.ok(operations.length > 30, String(operations.length))
  assert.deepEqual(operations.map((op) => op.operationId).filter((id) => !called.has(id)), [])
})
