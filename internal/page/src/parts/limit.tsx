import type { ComponentChildren } from 'preact'
import type { Backlog } from '../api/queues'
import { listAttempts, type Live, type LiveQueue, type Queue } from '../api/openapi.gen'
import { count, plural } from '../format/number'
import { relative, span } from '../format/time'
import { useData } from '../state/data'
import { Badge } from './badge'
import { DestinationLink } from './host'
import { errorText } from './reply'
import { Time, useNow } from './time'

// words say in two words what limits a queue. The state never shows by color alone.
const words: Record<string, string> = {
  suspended: 'suspended', pause: 'paused', purge: 'purging', rate: 'rate', concurrency: 'concurrency', destination: 'destination', slots: 'server is full',
}

// limitOf returns what keeps the tasks of a queue from starting. A pause shows even
// if no task is overdue, which the live data leaves out.
export function limitOf(namespace: string, q: Queue | undefined, now: LiveQueue | undefined, live: Live | null): string {
  if (live?.suspended?.includes(namespace)) return 'suspended'
  if (q?.purging) return 'purge'
  if (q?.paused) return 'pause'
  return now?.limited_by ?? ''
}

export function LimitBadge({ by }: { by: string }) {
  if (!by) return <span class="dim">nothing</span>
  return <Badge tone="warn">{words[by] ?? by}</Badge>
}

interface LimitProps {
  by: string
  name: string // of the queue
  namespace: string
  queue?: Queue // its settings
  backlog?: Backlog | null
  live: Live | null
}

// LimitText says in sentences what limits a queue.
export function LimitText(p: LimitProps): ComponentChildren {
  const { by, queue: q, backlog, live } = p
  switch (by) {
    case 'suspended':
      return <>The namespace is suspended. No task starts until an operator resumes it.</>
    case 'purge':
      return <>The queue is being purged. No task starts until that is done.</>
    case 'pause':
      return q?.paused_until ? <>The queue is paused. It resumes <Time at={q.paused_until} />.</> : <>The queue is paused until a user resumes it. Only tasks that you start with Run now are sent.</>
    case 'rate':
      return <>The rate of the queue{q?.rate ? `, ${q.rate}/s,` : ''} is used up.{q?.rate && backlog && backlog.overdue > 1 ? ` At this rate, all ${plural(backlog.overdue, 'overdue task')} start within about ${span(wait(backlog.overdue, q.rate))}.` : ''}</>
    case 'concurrency':
      return <>{q?.concurrency ? `All ${plural(q.concurrency, 'attempt')}` : 'All attempts'} that may run at once are running.</>
    case 'destination':
      return <Destinations {...p} />
    case 'slots':
      return <>The server runs as many attempts as it may{live?.slots ? `: ${count(live.slots)}` : ''}.</>
    default:
      return <>{backlog?.overdue ? 'No limit delays its tasks. They start in order.' : 'A due task starts at once.'}</>
  }
}

// wait estimates how long a rate needs for some tasks, in milliseconds.
export const wait = (tasks: number, rate: number): number => (tasks / rate) * 1000

// Destinations says which destinations hold back the oldest tasks of a queue. Without
// its backlog it names those of the namespace.
function Destinations({ name, namespace, queue: q, backlog, live }: LimitProps) {
  const mine = live?.destinations.filter((d) => d.namespace === namespace && (backlog ? backlog.destinations.includes(d.destination) : d.overdue > 0)) ?? []
  const open = mine.filter((d) => d.breaker !== 'closed')
  const full = mine.find((d) => q?.per_destination && d.running >= q.per_destination)
  const first = open[0]
  if (first) return (
    <>
      <DestinationLink name={first.destination} namespace={namespace} /> failed repeatedly, so its breaker is {first.breaker}.
      {backlog && <LastError queue={name} destination={first.destination} />} <NextTest at={first.open_until} />
      {open.length > 1 && <> {plural(open.length - 1, 'more destination')} {open.length === 2 ? 'has' : 'have'} an open breaker.</>}
    </>
  )
  if (full) return <><DestinationLink name={full.destination} namespace={namespace} /> has {plural(full.running, 'running attempt')}. The queue allows {q!.per_destination} at once to one destination.</>
  return <>{backlog?.destinations.length === 1 ? <DestinationLink name={backlog.destinations[0]!} namespace={namespace} /> : 'A receiver'} asked for a delay (Retry-After){q?.per_destination ? `, or has as many attempts as the queue allows: ${q.per_destination}` : ''}.</>
}

function LastError({ queue, destination }: { queue: string; destination: string }) {
  const data = useData((signal) => listAttempts({ queue, outcome: ['failed', 'refused'], limit: 100 }, undefined, signal), [queue], 10000)
  const last = data.value?.attempts.find((a) => a.destination === destination)
  return last ? <> Its last error: {errorText(last)}.</> : null
}

// NextTest says when an attempt tests a destination with an open breaker.
export function NextTest({ at }: { at?: string }) {
  const now = useNow()
  return <>{nextTest(at, now)}</>
}

export function nextTest(at: string | undefined, now: number): string {
  return at && Date.parse(at) > now + 1000 ? `The next test attempt is ${relative(at, now)}.` : 'The next test attempt starts now.'
}
