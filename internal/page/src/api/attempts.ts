import { listAttempts, type EndedAttempt } from './openapi.gen'

// Recent is the recent attempts that a server keeps: all failed and refused ones, and
// the latest others. The latest of all comes first.
export interface Recent {
  node: string
  attempts: EndedAttempt[]
  since: number // the list has no gap after this time, unless attempts were missed
  missed: boolean // the server did not keep all attempts
}

// readRecent returns the recent attempts. It reads n of all outcomes, and the failures
// apart: many deliveries would hide these.
export async function readRecent(n: number, namespace: string, signal: AbortSignal): Promise<Recent> {
  const list = listAttempts.in(namespace)
  const [all, failures] = await Promise.all([list({ limit: n }, undefined, signal), list({ outcome: ['failed', 'refused'], limit: 1000 }, undefined, signal)])
  const attempts = [...failures.attempts, ...all.attempts.filter((a) => !failed(a))].sort((a, b) => Date.parse(b.at) - Date.parse(a.at))
  return { node: all.node ?? '', attempts, since: all.attempts.length < n ? 0 : Date.parse(all.attempts.at(-1)!.at), missed: !!all.missed }
}

export function failed(a: EndedAttempt | undefined): a is EndedAttempt {
  return a?.outcome === 'failed' || a?.outcome === 'refused'
}
