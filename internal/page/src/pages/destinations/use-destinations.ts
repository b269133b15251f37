import { endedBy, isFailure, readRecent } from '../../api/attempts'
import type { EndedAttempt, LiveDestination, Task } from '../../api/openapi.gen'
import { taskDestination } from '../../format/destination'
import { requestNamespace } from '../../state/session'
import { useData } from '../../state/data'
import { currentNamespace, ofCurrentNamespace } from '../../state/current-namespace'
import { useLive } from '../../state/live'
import { latest } from '../../parts/dead-tasks'
import { failuresInRow } from '../../parts/limit-reason'

// Destination is the knowledge of the page about one receiver: the live data of the
// server, its recent attempts, and the dead tasks.
export interface Destination {
  name: string
  now?: LiveDestination
  attempts: EndedAttempt[] // the latest first
  failures: number // in a row, or all recent ones if the list has gaps between them
  dead: Task[] // the latest end first
}

// useDestinations returns all destinations with something to show. The worst come first.
export function useDestinations() {
  const live = useLive()
  const recent = useData((signal) => readRecent(1000, requestNamespace(), signal), [currentNamespace()], 5000)
  const since = recent.value?.since ?? 0
  const missed = recent.value?.attempts.some((a) => isFailure(a) && endedBy(a, since)) ?? false
  const dead = useData((signal) => latest({}, signal), [currentNamespace()], 15000)
  const now = new Map(ofCurrentNamespace(live?.destinations).map((d) => [d.destination, d]))
  const attempts = Map.groupBy(recent.value?.attempts ?? [], (a) => a.destination)
  const tasks = Map.groupBy(dead.value?.tasks ?? [], (t) => taskDestination(t))
  const failures = (of: EndedAttempt[]) => (missed ? of.filter(isFailure) : failuresInRow(of.filter((a) => !endedBy(a, since)))).length
  const all = [...new Set([...now.keys(), ...attempts.keys(), ...tasks.keys()])].map((name): Destination => ({
    name, now: now.get(name), attempts: attempts.get(name) ?? [], failures: failures(attempts.get(name) ?? []), dead: tasks.get(name) ?? [],
  }))
  return {
    all: all.sort((a, b) => badness(b) - badness(a) || a.name.localeCompare(b.name)),
    node: recent.value?.node ?? '',
    missed,
    loaded: live !== null && recent.value !== null,
    complete: dead.value?.complete ?? true,
    problem: recent.problem ?? dead.problem,
    reload: () => (recent.reload(), dead.reload()),
  }
}

function badness(d: Destination): number {
  const breaker = { open: 2, 'half-open': 1, closed: 0 }[d.now?.breaker ?? 'closed']
  return breaker * 4 + (d.now?.overdue ? 2 : 0) + (d.dead.length || d.failures ? 1 : 0)
}
