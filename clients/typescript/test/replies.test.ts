import assert from 'node:assert/strict'
import { type ServerResponse } from 'node:http'
import { before, beforeEach, test } from 'node:test'
import { Client, ProblemError } from '../src/index.js'
import { all, failure, listen } from './server.js'

let client: Client
let answer: (response: ServerResponse) => void
let requests = 0

before(async () => {
  const { url } = await listen((_, response) => {
    requests++
    answer(response)
  })
  client = new Client(url, { retry: { attempts: 3, minBackoff: 1 } })
})
beforeEach(() => {
  requests = 0
})

const reply = (status: number, body: string | Buffer, media = 'application/problem+json') => (response: ServerResponse) => {
  response.writeHead(status, { 'Content-Type': media }).end(body)
}

test('a problem with missing or wrong fields is a ProblemError', async () => {
  const problems: Array<[object, string]> = [
    [{ code: 'exists' }, 'exists'],
    [{ code: 'exists', title: 'Exists' }, 'Exists'],
    [{ code: 'exists', title: 'Exists', detail: '' }, 'Exists'],
    [{ code: 'exists', title: 'Exists', detail: 7 }, 'Exists'],
    [{ code: 'exists', title: ['Exists'], detail: {} }, 'exists'],
    [{ code: 'exists', detail: null, field: 7 }, 'exists'],
    [{ code: 'exists', title: 'Exists', field: ['a'] }, 'Exists'],
  ]
  for (const [problem, detail] of problems) {
    answer = reply(409, JSON.stringify(problem))
    const error = await failure(ProblemError, client.tasks.get('x'))
    assert.deepEqual([error.code, error.detail, error.message, error.field, error.maybeApplied], ['exists', detail, 'get x: ' + detail, undefined, false])
    assert.deepEqual(error.problem, problem)
  }
  assert.equal(requests, problems.length)
})

test('a reply that is not one of Foliot is a ProblemError', async () => {
  const bodies = ['', 'null', '7', '"x"', '[]', '[{"code":"exists"}]', '{', '{"code":7}', '{"code":""}', '{}', '\ufeff', '['.repeat(100_000), Buffer.from([0xff, 0xfe])]
  for (const status of [200, 404, 500]) {
    for (const media of ['application/json', 'application/problem+json', 'Application/JSON; charset=utf-8', 'text/html', '']) {
      for (const body of bodies) {
        answer = reply(status, body, media)
        const error = await failure(ProblemError, client.tasks.get('x'))
        assert.deepEqual([error.status, error.code, error.problem, error.maybeApplied], [status, '', undefined, status !== 404])
        assert.match(error.message, /is it a Foliot server\?$/)
      }
    }
  }
})

test('a success without the field that the client reads is a ProblemError', async () => {
  const calls = [
    () => all(client.tasks.list()), () => all(client.schedules.list()), () => all(client.queues.list()), () => client.tasks.wait('x'),
  ]
  for (const body of ['{}', '{"tasks":null,"schedules":7,"queues":{},"results":"x","id":7}']) {
    answer = reply(200, body, 'application/json')
    for (const call of calls) {
      const error = await failure(ProblemError, call())
      assert.ok(error.maybeApplied)
      assert.match(error.message, /without a Foliot reply/)
    }
  }
})

test('a problem is not a success, and the media type is compared without case', async () => {
  answer = reply(200, '{"code":"exists","id":"1"}')
  assert.equal((await failure(ProblemError, client.tasks.get('x'))).code, 'exists')
  answer = reply(409, '{"code":"exists"}', 'Application/Problem+JSON; charset=utf-8')
  assert.equal((await failure(ProblemError, client.tasks.get('x'))).code, 'exists')
  answer = reply(200, '{"id":"1"}', 'Application/JSON')
  assert.equal((await client.tasks.get('x')).id, '1')
})

test('a reply of more than 64 MiB is a ProblemError', async () => {
  const head = Buffer.from('{"id":"1","name":"')
  const send = (length: number) => (response: ServerResponse) => {
    response.writeHead(200, { 'Content-Type': 'application/json' })
    response.write(head)
    response.write(Buffer.alloc(length - head.length - 2, 'a'))
    response.end('"}')
  }
  answer = send(64 << 20)
  assert.equal((await client.tasks.get('x')).id, '1')
  answer = send((64 << 20) + 1)
  assert.match((await failure(ProblemError, client.tasks.get('x'))).message, /with more than 64 MiB: is it/)
  assert.equal(requests, 2)
})

test('a reply of another fetch is read, with and without a stream', async () => {
  const own = (body: BodyInit | null, status: number) => new Client('http://127.0.0.1:9', {
    fetch: async () => new Response(body, { status, headers: { 'Content-Type': 'application/json' } }),
  })
  assert.equal((await own('{"id":"ä"}', 200).tasks.get('x')).id, 'ä')
  assert.equal((await failure(ProblemError, own(null, 204).tasks.get('x'))).status, 204)
  const plain = { ok: true, status: 200, headers: new Headers({ 'Content-Type': 'application/json' }), text: async () => '{"id":"1"}' }
  assert.equal((await new Client('http://127.0.0.1:9', { fetch: async () => plain as Response }).tasks.get('x')).id, '1')
})
