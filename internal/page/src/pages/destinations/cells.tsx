import { isFailure } from '../../api/attempts'
import { plural } from '../../format/number'
import { serverNow } from '../../state/session'
import { link } from '../../state/route'
import { State } from '../../parts/badge'
import { failuresInRow, NextTest } from '../../parts/limit-reason'
import { ErrorText } from '../../parts/reply'
import { ChangeByFilter } from '../../parts/change-by-filter'
import { Time } from '../../parts/time'
import type { Destination } from './use-destinations'

export function Breaker({ of: d }: { of: Destination }) {
  const breaker = d.now?.breaker ?? 'closed'
  return <><State of={breaker} /> {breaker !== 'closed' && <small class="dim"><NextTest at={d.now?.open_until} /></small>}</>
}

export function Overdue({ of: d }: { of: Destination }) {
  if (!d.now?.overdue) return <span class="dim none">0</span>
  return <>{plural(d.now.overdue, 'task')} <small class="dim nowrap">oldest <Time at={serverNow() - (d.now.oldest_ms ?? 0)} mode="relative" /></small></>
}

export const failuresTitle = (missed: boolean) => (missed ? 'Recent failures' : 'Failures in a row')

export function Failures({ of: d }: { of: Destination }) {
  const first = failuresInRow(d.attempts).at(-1)
  return d.failures ? <><span class="bad">{d.failures}</span> {first && <small class="dim nowrap">since <Time at={first.at} mode="relative" /></small>}</> : <span class="dim none">0</span>
}

export function LastFailure({ of: d }: { of: Destination }) {
  const a = d.attempts.find(isFailure)
  if (a) return <><Time at={a.at} mode="relative" />: <ErrorText of={a} /></>
  const last = d.dead[0]?.attempts.at(-1)
  if (last) return <><Time at={last.started_at} mode="relative" />: <ErrorText of={last} /></>
  return <span class="dim none">none</span>
}

export function DeadLink({ of: d, complete }: { of: Destination; complete: boolean }) {
  if (d.dead.length === 0) return <span class="dim none">0</span>
  return <a class="bad" href={link('dead', '', { destination: d.name })} aria-label={`${plural(d.dead.length, 'dead task')} of ${d.name}`}>{d.dead.length}{!complete && '+'}</a>
}

// RetryDead retries the dead tasks of a destination.
export function RetryDead({ of: d, complete, done }: { of: Destination; complete: boolean; done: () => void }) {
  if (complete && d.dead.length === 0) return null
  return <ChangeByFilter verb="retry" label="Retry dead tasks" filter={{ state: ['dead'], destination: d.name }} done={done} />
}
