import type { ComponentChildren } from 'preact'
import { endedBy, failures, isFailure, sinceOf } from '../api/attempts'
import type { Backlog } from '../api/queues'
import { listAttempts, type EndedAttempt, type Live, type LiveDestination, type LiveQueue, type Queue } from '../api/openapi.gen'
import { count, plural } from '../format/number'
import { relative, span } from '../format/time'
import { useData } from '../state/data'
import { ifOperator, shared } from '../state/session'
import { Badge } from './badge'
import { DestinationLink } from './host'
import { errorText } from './reply'
import { Time, useNow } from './time'

// words say in two words what limits a queue. The state never shows by color alone.
const words: Record<string, string> = {
  suspended: 'suspended', pause: 'paused', purge: 'purging', rate: 'rate', slots: 'server is full', breaker: 'destination', retry_after: 'destination', per_destination: 'destination',
}

// limitOf returns what keeps the tasks of a queue from starting. The settings of the queue
// come first: the live data of this server may lack it.
export function limitOf(namespace: string, q: Queue | undefined, now: LiveQueue | undefined, live: Live | null): string {
  if (live?.suspended?.includes(namespace)) return 'suspended'
  if (q?.purging) return 'purge'
  if (q?.paused) return 'pause'
  return now?.limited_by ?? ''
}

export function LimitBadge({ by }: { by: string }) {
  if (!by) return <span class="dim">nothing</span>
  return <Badge tone="warn">{words[by] ?? by.replaceAll('_', ' ')}</Badge>
}

interface LimitProps {
  by: string
  name: string // of the queue
  namespace: string
  queue?: Queue // its settings
  backlog?: Backlog | null
  live: Live | null
}

// running returns the number of attempts that run. With one server the live data has
// it, each second; otherwise the queue has it, for all servers.
export function running(q: Queue, now: LiveQueue | undefined, live: Live | null): number {
  return live && !shared() ? now?.running ?? 0 : q.counts.running
}

// free returns whether fewer attempts run than the concurrency of the queue allows.
function free({ queue: q, name, namespace, live }: LimitProps): boolean {
  const now = live?.queues.find((other) => other.queue === name && other.namespace === namespace)
  return q?.concurrency !== undefined && running(q, now, live) < q.concurrency
}

// waitedFor returns the destinations of the oldest tasks of a queue. Without its backlog
// it returns those of the namespace.
function waitedFor({ namespace, backlog, live }: LimitProps): LiveDestination[] {
  return live?.destinations.filter((d) => d.namespace === namespace && (backlog ? backlog.destinations.includes(d.destination) : d.overdue > 0)) ?? []
}

const notClosed = (d: LiveDestination) => d.breaker !== 'closed'

// LimitText says in sentences what limits a queue.
export function LimitText(p: LimitProps): ComponentChildren {
  const { queue: q, backlog, live } = p
  switch (p.by) {
    case 'suspended':
      return <>The namespace is suspended. No task starts until an operator resumes it.</>
    case 'purge':
      return <>The queue is being purged. No task starts until that is done.</>
    case 'pause':
      return q?.paused_until ? <>The queue is paused. It resumes <Time at={q.paused_until} />.</> : <>The queue is paused until a user resumes it. Only tasks that you start with Run now are sent.</>
    case 'rate':
      return <>The rate of the queue{q?.rate ? `, ${q.rate}/s,` : ''} is used up.{q?.rate && backlog && backlog.overdue > 1 ? ` At this rate, all ${plural(backlog.overdue, 'overdue task')} start within about ${span(wait(backlog.overdue, q.rate))}, if no others become due.` : ''}</>
    case 'concurrency':
      return <>{free(p)
        ? `The queue may run ${plural(q!.concurrency!, 'attempt')} at once. ${shared() ? 'This server has used up its share.' : 'The next one has not started yet.'}`
        : `All ${q?.concurrency ? plural(q.concurrency, 'attempt') : 'attempts'} that may run at once are running.`} <LastFailure {...p} /></>
    case 'breaker': case 'retry_after': case 'per_destination':
      return <Destinations {...p} />
    case 'runner':
      return <>No process that owns the tasks has a handler for their kind. Start one, or cancel the tasks.</>
    case 'kind':
      return <>As many tasks of its kind run as the limit of the kind allows.</>
    case 'unsent':
      return <>The last request to its destination was not sent, for a reason of this server: its log has it.</>
    case 'quarantine':
      return <>Another task in quarantine runs. Those whose attempts ended with the server run one by one.</>
    case 'slots':
      return <>The server runs as many attempts as it may{live?.slots ? `: ${count(live.slots)}` : ''}.</>
    default:
      if (waitedFor(p).some(notClosed)) return <Destinations {...p} />
      return <>{backlog?.overdue ? 'No limit delays its tasks. They start in order.' : 'A due task starts at once.'} <LastFailure {...p} /></>
  }
}

// wait estimates how long a rate needs for some tasks, in milliseconds.
const wait = (tasks: number, rate: number): number => (tasks / rate) * 1000

// Destinations says which destinations hold back the oldest tasks of a queue.
function Destinations(p: LimitProps) {
  const { name, namespace, queue: q, backlog } = p
  const mine = waitedFor(p)
  const stopped = mine.filter(notClosed)
  const full = mine.find((d) => q?.per_destination && d.running >= q.per_destination)
  const first = stopped[0]
  if (first) return (
    <>
      <DestinationLink name={first.destination} namespace={namespace} /> failed repeatedly, so its breaker is {first.breaker}.
      {backlog && <LastError queue={name} namespace={namespace} destination={first.destination} />} <NextTest at={first.open_until} />
      {stopped.length > 1 && <> {plural(stopped.length - 1, 'more destination')} {stopped.length === 2 ? 'has' : 'have'} a breaker that is not closed.</>}
    </>
  )
  if (full) return <><DestinationLink name={full.destination} namespace={namespace} /> has {plural(full.running, 'running attempt')}. The queue allows {q!.per_destination} at once to one destination.</>
  return <>{backlog?.destinations.length === 1 ? <DestinationLink name={backlog.destinations[0]!} namespace={namespace} /> : 'A receiver'} asked for a delay (Retry-After){q?.per_destination ? `, or has as many attempts as the queue allows: ${q.per_destination}` : ''}.</>
}

function LastError({ queue, namespace, destination }: { queue: string; namespace: string; destination: string }) {
  const data = useData((signal) => listAttempts.in(ifOperator(namespace))({ queue, outcome: failures, limit: 100 }, undefined, signal), [queue, namespace], 10000)
  const last = data.value?.attempts.find((a) => a.destination === destination)
  return last ? <> Its last error: {errorText(last)}.</> : null
}

// LastFailure shows the failure of the last attempt of a queue that the server kept.
function LastFailure({ name, namespace }: LimitProps) {
  const data = useData((signal) => listAttempts.in(ifOperator(namespace))({ queue: name, limit: 20 }, undefined, signal), [name, namespace], 5000)
  return <Failure of={data.value?.attempts[0]} since={data.value ? sinceOf(data.value) : 0} />
}

// Failure shows the last attempt of a queue if it failed. If it ended by since,
// another attempt can be the last.
export function Failure({ of: a, since }: { of?: EndedAttempt; since: number }) {
  if (!isFailure(a)) return null
  return <>{endedBy(a, since) ? 'A recent' : 'The last'} attempt failed <Time at={a.at} mode="relative" />: {errorText(a)} (<DestinationLink name={a.destination} namespace={a.namespace} />).</>
}

// failuresInRow returns the failed attempts since the last delivery, as far as the list
// goes back. Interrupted attempts do not count.
export function failuresInRow(attempts: EndedAttempt[]): EndedAttempt[] {
  const end = attempts.findIndex((a) => a.outcome === 'delivered')
  return (end < 0 ? attempts : attempts.slice(0, end)).filter(isFailure)
}

// failureWords counts the failures among attempts, the latest first. It says how they
// follow each other only if the list has no gap between them.
export function failureWords(attempts: EndedAttempt[], since: number): string {
  const failed = attempts.filter(isFailure)
  const row = failuresInRow(attempts).length
  if (failed.some((a) => endedBy(a, since))) return `${plural(failed.length, 'recent attempt')} failed`
  return row ? plural(row, 'failure') + ' in a row' : `${count(failed.length)} of the last ${plural(attempts.length, 'attempt')} failed`
}

// NextTest says when an attempt tests a destination with an open breaker.
export function NextTest({ at }: { at?: string }) {
  const now = useNow()
  return <>{nextTest(at, now)}</>
}

function nextTest(at: string | undefined, now: number): string {
  return at && Date.parse(at) > now + 1000 ? `The next test attempt is ${relative(at, now)}.` : 'The next due task tests it.'
}
