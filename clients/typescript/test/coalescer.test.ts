import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Coalescer, type Flight, maxBytes } from '../src/coalescer.js'

interface Call {
  id: number
  size: number
  most: number
}

/** A generator of numbers below n that gives the same ones each time. */
function random(seed: number): (n: number) => number {
  let state = seed
  return (n) => {
    state = (state * 1103515245 + 12345) % 2 ** 31
    return Math.floor((state / 2 ** 31) * n)
  }
}

/** The naive model: it remembers every request that was ever sent, and tries every length of a batch. */
class Model {
  waiting: Call[] = []
  sent: Array<{ ids: string; start: number; end?: number }> = []

  /** Sends what can be sent, and returns the ids of each request. */
  send(now: number): string[] {
    const before = this.sent.length
    while (this.waiting.length > 0 && this.sent.filter((one) => one.end === undefined && now - one.start < 100).length < 4) {
      let length = 1
      while (length < this.waiting.length && fits(this.waiting.slice(0, length + 1))) length++
      this.sent.push({ ids: ids(this.waiting.splice(0, length)), start: now })
    }
    return this.sent.slice(before).map((one) => one.ids)
  }
}

const fits = (calls: Call[]) => calls.every((call) => calls.length <= call.most) && calls.reduce((sum, call) => sum + call.size, 0) <= maxBytes
const ids = (calls: Call[]) => calls.map((call) => call.id).join()

test('the coalescer sends what a naive model sends, at the same times', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const below = random(seed)
    const core = new Coalescer<Call>()
    const model = new Model()
    const flights: Array<Flight<Call>> = []
    let now = 0
    const check = () => {
      const sent: string[] = []
      for (let flight; (flight = core.next(now));) {
        flights.push(flight)
        sent.push(ids(flight.items))
      }
      assert.deepEqual(sent, model.send(now), `seed ${seed}, time ${now}`)
    }
    const pass = (until: number) => { // a user calls next at wake, and at no other time
      for (let wake; (wake = core.wake()) !== undefined && wake <= until;) {
        assert.ok(wake > now, 'the time of wake is in the future')
        for (const time = wake; now < time;) { // and before wake, nothing can be sent
          now = Math.min(time, now + 10)
          if (now < time) assert.deepEqual(model.send(now), [], `seed ${seed}, time ${now}`)
        }
        check()
      }
      now = until
    }
    for (let step = 0; step < 100; step++) {
      switch (below(4)) {
        case 0:
        case 1:
          for (let n = below(8); n >= 0; n--) {
            const call = { id: model.sent.length * 1e6 + step * 1000 + n, size: below(20) === 0 ? maxBytes - below(3) : below(1000), most: [1000, 1000, 1000, 1, 2, 5][below(6)]! }
            core.add(call)
            model.waiting.push(call)
            if (below(2) === 0) check() // otherwise several arrive at once
          }
          check()
          break
        case 2: {
          const index = below(flights.length + 1)
          const [flight] = flights.splice(index, 1)
          if (!flight) break
          core.end(flight)
          model.sent.find((one) => one.ids === ids(flight.items))!.end = now
          check()
          break
        }
        case 3: {
          const call = model.waiting[below(model.waiting.length + 1)]
          if (call) {
            assert.ok(core.remove(call))
            assert.ok(!core.remove(call))
            model.waiting.splice(model.waiting.indexOf(call), 1)
            check()
          }
          pass(now + below(60))
        }
      }
    }
  }
})

test('a call goes out at once and alone, unless 4 are under way', () => {
  const core = new Coalescer<Call>()
  const call = (id: number) => ({ id, size: 10, most: 1000 })
  const sent = () => core.next(0)?.items.map((one) => one.id)
  for (const id of [1, 2, 3, 4]) {
    core.add(call(id))
    assert.deepEqual(sent(), [id])
  }
  for (const id of [5, 6, 7]) core.add(call(id))
  assert.equal(sent(), undefined)
  assert.equal(core.wake(), 100)
  assert.deepEqual(core.next(100)?.items.map((one) => one.id), [5, 6, 7], 'the 4 are slow, so they do not count')
  assert.equal(core.wake(), undefined)
})
