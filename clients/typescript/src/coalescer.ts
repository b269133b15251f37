/** The limits of a batch. */
export const maxCalls = 1000
export const maxBytes = 8 << 20

const flights = 4
const slow = 100

/** A call that can travel in a batch. */
export interface Item {
  /** The bytes of the call in a batch. */
  readonly size: number
  /** The highest number of calls in a batch with this one. */
  readonly most: number
}

/** Calls that are under way in one request. */
export interface Flight<T> {
  readonly items: T[]
  /** The time from which it is slow. */
  readonly slow: number
}

/**
 * Decides which calls go out together, and when. At most 4 requests are under way. A call that finds fewer goes out at
 * once. The others wait until one of the 4 ends, or has taken longer than 100 ms: such a slow one no longer counts. Then
 * all that wait go out in one batch of at most 1000 calls and 8 MiB.
 *
 * It has no clock and sends nothing. After each add, end and remove, and at the time of wake, its user must send what
 * next returns, until that is undefined. Times are milliseconds.
 */
export class Coalescer<T extends Item> {
  private readonly waiting: T[] = []
  private readonly flights = new Set<Flight<T>>() // those that count, the earliest start first

  /** Adds a call. */
  add(item: T): void {
    this.waiting.push(item)
  }

  /** Returns the next calls to send in one request, or undefined if nothing can be sent now. */
  next(now: number): Flight<T> | undefined {
    for (const flight of this.flights) {
      if (flight.slow > now) break
      this.flights.delete(flight)
    }
    if (this.waiting.length === 0 || this.flights.size >= flights) return undefined
    const flight = { items: take(this.waiting), slow: now + slow }
    this.flights.add(flight)
    return flight
  }

  /** Notes that a request has ended. */
  end(flight: Flight<T>): void {
    this.flights.delete(flight)
  }

  /** Removes a call. Reports whether it was still waiting. */
  remove(item: T): boolean {
    const index = this.waiting.indexOf(item)
    if (index >= 0) this.waiting.splice(index, 1)
    return index >= 0
  }

  /** Returns the time at which a request becomes slow, so that a waiting call can go out. undefined: no call waits. */
  wake(): number | undefined {
    if (this.waiting.length === 0) return undefined
    for (const flight of this.flights) return flight.slow
    return undefined
  }
}

/** Removes the calls of the next batch from a list that is not empty. A call that is too large has a request of its own. */
export function take<T extends Item>(waiting: T[]): T[] {
  let count = 0
  let size = 0
  let most = maxCalls
  for (const item of waiting) {
    most = Math.min(most, item.most)
    size += item.size
    if (count > 0 && (count >= most || size > maxBytes)) break
    count++
  }
  return waiting.splice(0, count)
}
