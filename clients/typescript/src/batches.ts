import type { Attempt } from './call.js'
import { Coalescer, type Flight, type Item } from './coalescer.js'

/** A call that waits for its result. */
interface Waiting extends Item {
  attempt: Attempt
  signal: AbortSignal | undefined
  resolve: (outcome: unknown) => void
  reject: (reason: unknown) => void
}

/** Sends the calls that are under way at the same time in batches. */
export class Batches {
  private readonly core = new Coalescer<Waiting>()
  private wake: number | undefined // the time of the timer
  private timer: ReturnType<typeof setTimeout> | undefined

  /** exchange sends calls in one request, and returns the result or the error of each. */
  constructor(private readonly exchange: (attempts: Attempt[], signal: AbortSignal | undefined) => Promise<unknown[]>) {}

  /** Sends a call, alone or with others, and returns its result or its error. If the signal is aborted, it throws the signal's reason at once. */
  send(attempt: Attempt, signal: AbortSignal | undefined): Promise<unknown> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      const { size, most } = attempt
      const waiting = { attempt, size, most, signal, resolve, reject }
      if (signal !== undefined) {
        const stop = () => {
          this.core.remove(waiting) // if it is not under way, it is not sent
          reject(signal.reason)
        }
        signal.addEventListener('abort', stop, { once: true })
        waiting.resolve = (outcome) => {
          signal.removeEventListener('abort', stop)
          resolve(outcome)
        }
      }
      this.core.add(waiting)
      this.go()
    })
  }

  /** Starts what can be sent. */
  private go(): void {
    for (let flight; (flight = this.core.next(performance.now()));) void this.fly(flight)
    const wake = this.core.wake()
    if (wake === this.wake) return
    clearTimeout(this.timer)
    this.wake = wake
    if (wake === undefined) return
    this.timer = setTimeout(() => {
      this.wake = undefined
      this.go()
    }, Math.max(0, wake - performance.now()))
  }

  private async fly(flight: Flight<Waiting>): Promise<void> {
    const { items } = flight
    const signal = items.length === 1 ? items[0]!.signal : undefined // one caller must not end the calls of others
    try {
      const outcomes = await this.exchange(items.map(({ attempt }) => attempt), signal)
      items.forEach(({ resolve }, i) => resolve(outcomes[i]))
    } catch (error) {
      for (const { reject } of items) reject(error)
    }
    // The callers first make their next calls, which can then go out together.
    setImmediate(() => {
      this.core.end(flight)
      this.go()
    })
  }
}
