import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { Client, type ClientOptions, ProblemError } from '../src/index.js'
import { pauseAfter, sleep } from '../src/retry.js'
import { after } from '../src/timer.js'
import { failure, listen } from './server.js'

const month = 2 ** 31 // one millisecond more than setTimeout can wait

test('a timeout of any length is longer than a slow reply', async () => {
  const { url } = await listen((_, response) => {
    setTimeout(() => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"id":"1"}'), 50)
  })
  const calls: Array<[ClientOptions, string]> = [
    [{ timeout: Infinity }, '1s'], [{ timeout: month }, '1s'], [{ timeout: 1e300 }, '1s'], [{}, '600h'], [{}, '9'.repeat(400) + 'h'],
  ]
  for (const [options, wait] of calls) {
    const task = await new Client(url, { ...options, retry: { attempts: 1 } }).tasks.get('x', { wait })
    assert.equal(task.id, '1', JSON.stringify([options, wait]))
  }
})

test('a pause of any length is waited for', async () => {
  for (const ms of [month, Infinity]) {
    const stop = new AbortController()
    setTimeout(() => stop.abort(new RangeError('still waiting')), 50)
    assert.equal((await failure(RangeError, sleep(ms, stop.signal))).message, 'still waiting')
  }
})

test('a long delay has its full length, and can be cancelled', () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  let calls = 0
  after(2 * month, () => calls++)
  after(2 * month, () => calls++)()
  const cancel = after(2 * month, () => calls++)
  mock.timers.tick(month - 1) // a tick must not pass the end of a timer: the next one would start late
  cancel()
  mock.timers.tick(month - 1)
  mock.timers.tick(1)
  assert.equal(calls, 0)
  mock.timers.tick(1)
  assert.equal(calls, 1)
  mock.timers.reset()
})

test('a backoff never exceeds its limit, not even after thousands of requests', () => {
  const error = new ProblemError('get x', 503, undefined, 'busy', 0, false)
  for (const minBackoff of [0, 100]) {
    const pause = pauseAfter(error, 5000, true, { attempts: Infinity, minBackoff, maxBackoff: 250 })
    assert.ok(pause !== undefined && pause >= 0 && pause <= 250, String(pause))
  }
})

test('an invalid number is refused when the client is made', () => {
  const wrong = [NaN, -1, -Infinity, '60', null, 60n] as number[]
  for (const timeout of [...wrong, 0].filter((value) => value !== null)) {
    assert.throws(() => new Client('http://127.0.0.1:9', { timeout }), { name: 'TypeError', message: /^invalid timeout .*: expected milliseconds above 0/ })
  }
  for (const value of wrong) {
    for (const field of ['attempts', 'minBackoff', 'maxBackoff']) {
      assert.throws(() => new Client('http://127.0.0.1:9', { retry: { [field]: value } }), { name: 'TypeError', message: RegExp(`^invalid retry.${field} `) })
    }
  }
  assert.throws(() => new Client('http://127.0.0.1:9', { retry: { attempts: 0 } }), /expected 1 or more/)
  const client = new Client('http://127.0.0.1:9', { timeout: 0.5, retry: { attempts: Infinity, minBackoff: 0, maxBackoff: Infinity } })
  assert.ok(client)
})
