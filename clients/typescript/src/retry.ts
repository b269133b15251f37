import { type FoliotError, ProblemError, TransportError } from './errors.js'
import { checkNumber } from './options.js'
import { after } from './timer.js'

/**
 * How calls are repeated. Between two requests the client waits for the backoff, and for the server's Retry-After
 * in addition. The backoff doubles from minBackoff to maxBackoff. A random part of up to half of it is left out.
 */
export interface RetryPolicy {
  /** The highest number of requests for a call; 1: no repeats. Default: 4. */
  attempts?: number
  /** Milliseconds before the second request. Default: 100. */
  minBackoff?: number
  /** The longest backoff, and the longest Retry-After that the client waits for, in milliseconds. Default: 10000. */
  maxBackoff?: number
}

/** Throws a TypeError if a field of the policy is invalid. */
export function checkRetry({ attempts = 4, minBackoff = 0, maxBackoff = 0 }: RetryPolicy): void {
  checkNumber('retry.attempts', attempts, 1, '1 or more')
  checkNumber('retry.minBackoff', minBackoff, 0, 'milliseconds, 0 or more')
  checkNumber('retry.maxBackoff', maxBackoff, 0, 'milliseconds, 0 or more')
}

/** Returns the pause in milliseconds before the next request, or undefined if the call is not repeated. */
export function pauseAfter(error: FoliotError, request: number, repeatable: boolean, policy: RetryPolicy): number | undefined {
  const { attempts = 4, maxBackoff = 10_000 } = policy
  if (request >= attempts) return undefined
  const backoff = backoffAfter(request, policy)
  if (error instanceof ProblemError) {
    const again = error.status === 429 || (repeatable && busy(error.status))
    return again && error.retryAfter <= maxBackoff ? error.retryAfter + backoff : undefined
  }
  if (error instanceof TransportError) {
    return !error.permanent && (repeatable || !error.maybeApplied) ? backoff : undefined
  }
  return undefined
}

/** Returns the milliseconds of the backoff after that number of requests. */
export function backoffAfter(request: number, { minBackoff = 100, maxBackoff = 10_000 }: RetryPolicy): number {
  const full = Math.min(minBackoff * 2 ** Math.min(request - 1, 64), maxBackoff)
  return full / 2 + (Math.random() * full) / 2
}

/** Reports whether the server may accept the same request soon. */
export function busy(status: number): boolean {
  return status === 502 || status === 503 || status === 504
}

/** Returns the milliseconds of a Retry-After, which is a number of seconds or a date; 0: there is none. */
export function retryAfter(headers: Headers): number {
  const value = headers.get('Retry-After') ?? ''
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return Math.max(0, ms || 0)
}

/** Waits. If the signal is aborted, it throws the signal's reason. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      cancel()
      reject(signal?.reason)
    }
    const cancel = after(ms, () => {
      signal?.removeEventListener('abort', stop)
      resolve()
    })
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
}

/** Returns the milliseconds of a duration such as "1m30s" or "1d"; 0 if it is not one. */
export function milliseconds(duration: string): number {
  const units: Record<string, number> = { d: 86_400_000, ns: 1e-6, us: 1e-3, µs: 1e-3, μs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 }
  let sum = 0
  for (const [, amount, unit] of duration.matchAll(/([\d.]+)(d|ns|us|µs|μs|ms|s|m|h)/g)) sum += Number(amount) * units[unit!]!
  return sum || 0
}
