import { listAttempts, type EndedAttempt } from './openapi.gen'

// Recent is the recent attempts that a server keeps: all failures, and the latest
// others. The latest of all comes first.
export interface Recent {
  node: string
  attempts: EndedAttempt[]
  since: number // the list has no gap after this time
}

// readRecent returns the recent attempts. It reads n of all outcomes, and the failures
// apart: many deliveries would hide these.
export async function readRecent(n: number, namespace: string, signal: AbortSignal): Promise<Recent> {
  const list = listAttempts.in(namespace)
  const [all, failed] = await Promise.all([list({ limit: n }, undefined, signal), list({ outcome: failures, limit: 1000 }, undefined, signal)])
  const attempts = [...failed.attempts, ...all.attempts.filter((a) => !isFailure(a))].sort((a, b) => Date.parse(b.at) - Date.parse(a.at))
  return { node: all.node ?? '', attempts, since: Math.max(sinceOf(all), all.attempts.length < n ? 0 : Date.parse(all.attempts.at(-1)!.at)) }
}

// sinceOf returns the time after which the server has all attempts.
export const sinceOf = (list: { since?: string }): number => Date.parse(list.since ?? '') || 0

// endedBy reports whether an attempt ended at a time or before.
export const endedBy = (a: EndedAttempt, time: number): boolean => Date.parse(a.at) <= time

// failures are the outcomes of attempts that failed. The receiver snoozed others, or they
// ended for a reason that is not the receiver's.
export const failures: ('failed' | 'refused')[] = ['failed', 'refused']

export function isFailure(a: EndedAttempt | undefined): a is EndedAttempt {
  return failures.some((outcome) => outcome === a?.outcome)
}
