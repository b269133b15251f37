import type { ComponentChildren } from 'preact'
import type { Live, LiveQueue, Queue } from '../../api/openapi.gen'
import { count } from '../../format/number'
import { ofHere, here } from '../../state/here'
import { link } from '../../state/route'
import { Badge } from '../../parts/badge'
import { Time } from '../../parts/time'

// words say in two words what limits a queue. The state never shows by color alone.
const words: Record<string, string> = {
  suspended: 'suspended', pause: 'paused', purge: 'purging', rate: 'rate', concurrency: 'concurrency', destination: 'destination', slots: 'server is full',
}

// limitOf returns what keeps the tasks of a queue from starting. A pause shows even
// if no task is overdue, which the live data leaves out.
export function limitOf(q: Queue, now: LiveQueue | undefined, live: Live | null): string {
  if (live?.suspended?.includes(here())) return 'suspended'
  if (q.purging) return 'purge'
  if (q.paused) return 'pause'
  return now?.limited_by ?? ''
}

export function LimitBadge({ by }: { by: string }) {
  if (!by) return <span class="dim">nothing</span>
  return <Badge tone="warn">{words[by] ?? by}</Badge>
}

// LimitText says in a sentence what limits a queue.
export function LimitText({ by, queue: q, live }: { by: string; queue: Queue; live: Live | null }): ComponentChildren {
  switch (by) {
    case 'suspended':
      return <>The operator suspended the namespace. No task starts.</>
    case 'purge':
      return <>A purge is under way. No task starts until it is done.</>
    case 'pause':
      return q.paused_until ? <>Paused. Resumes <Time at={q.paused_until} />.</> : <>Paused without end. Only tasks that are run by hand start.</>
    case 'rate':
      return <>The rate of {q.rate === undefined ? 'the queue' : `${q.rate}/s`} is used up.</>
    case 'concurrency':
      return <>All {q.concurrency ? count(q.concurrency) : ''} attempts that may run at once are running.</>
    case 'destination':
      return <Destinations queue={q} live={live} />
    case 'slots':
      return <>The server runs as many attempts as it may{live?.slots ? `: ${count(live.slots)}` : ''}.</>
    default:
      return <>Nothing limits it now.</>
  }
}

function Destinations({ queue: q, live }: { queue: Queue; live: Live | null }) {
  const open = ofHere(live?.destinations).filter((d) => d.breaker !== 'closed' && d.overdue > 0)
  if (open.length === 0) return <>Its destinations accept no more now: {q.per_destination ? `the limit of ${q.per_destination} to one destination is reached, or ` : ''}a receiver asked for a delay.</>
  const [first] = open
  return (
    <>
      A destination accepts no more now. Breaker {first!.breaker}: <a href={link('destinations', first!.destination)}>{first!.destination}</a>
      {first!.open_until && <>, tested again <Time at={first!.open_until} mode="relative" /></>}
      {open.length > 1 && <> and <a href={link('destinations')}>{open.length - 1} more</a></>}.
    </>
  )
}
