import { endedBy, sinceOf } from '../api/attempts'
import { listAttempts, type EndedAttempt, type Problem } from '../api/openapi.gen'
import { count, plural } from '../format/number'
import { span } from '../format/time'
import { useData } from '../state/data'
import { currentNamespace, ofCurrentNamespace } from '../state/current-namespace'
import { link } from '../state/route'
import { serverNow, shared } from '../state/session'
import { State } from './badge'
import { DestinationLink } from './host'
import { ErrorText } from './reply'
import { Empty, ProblemNote } from './notice'
import { Panel } from './panel'
import { Table, type Column } from './table'
import { Time } from './time'

export interface Recent {
  list: EndedAttempt[]
  now: number // the server's time of the list
  missed: boolean // the list has a gap
  problem: Problem | null
  loaded: boolean
}

// useAttempts returns the attempts of a queue that the server still knows, the latest
// first.
export function useAttempts(queue: string): Recent {
  const data = useData(async (signal) => {
    const reply = await listAttempts({ queue, limit: 1000 }, undefined, signal)
    const list = ofCurrentNamespace(reply.attempts)
    return { list, now: serverNow(), missed: list.some((a) => endedBy(a, sinceOf(reply))) }
  }, [queue, currentNamespace()], 3000)
  return { list: data.value?.list ?? [], now: data.value?.now ?? 0, missed: data.value?.missed ?? false, problem: data.problem, loaded: data.value !== null }
}

// Attempts shows the lateness and the outcomes of the recent attempts of a queue.
export function Attempts({ of: { list, missed, problem, loaded } }: { of: Recent }) {
  const last = list.at(-1)
  return (
    <Panel title="Recent attempts" aside={shared() && 'of this server'} wide>
      <ProblemNote problem={problem} />
      {loaded && list.length === 0 && <NoAttempts />}
      {last && (
        <>
          <p class="dim">{missed ? plural(list.length, 'recent attempt') : <>The last {plural(list.length, 'attempt')}</>}, since <Time at={last.at} mode="full" />. {missed && 'There were more: the server keeps at most 100 deliveries and 100 other attempts of a namespace in a second. '}Lateness is the time from the due time to the start of an attempt, without delays by receivers, limits and pauses.</p>
          <Delays title="Lateness" of={list.map((a) => a.late_ms)} />
          <Delays title="Waited for receivers, limits and pauses" of={list.map((a) => a.waited_ms)} />
          <h3>By outcome</h3>
          <Table caption="Recent attempts by outcome" rows={byOutcome(list)} columns={missed ? outcomes.filter((c) => c.title !== 'Share') : outcomes} id={(o) => o.outcome} keys={false} />
          <AttemptTables of={list} place="destination" />
        </>
      )}
    </Panel>
  )
}

function Delays({ title, of }: { title: string; of: number[] }) {
  const late = of.sort((a, b) => a - b)
  const figures = [['p50', at(late, 0.5)], ['p90', at(late, 0.9)], ['p99', at(late, 0.99)], ['largest', late.at(-1)!]] as const
  return (
    <>
      <h3>{title}</h3>
      <div class="figures">{figures.map(([words, ms]) => <div class="figure" key={words}><b>{span(ms)}</b><span>{words}</span></div>)}</div>
    </>
  )
}

// at returns the value below which a part of a sorted list is.
function at(sorted: number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.ceil(part * sorted.length) - 1)] ?? 0
}

interface Outcome {
  outcome: string
  n: number
  share: number
  latency: number
  last: string
}

function byOutcome(list: EndedAttempt[]): Outcome[] {
  const groups = Map.groupBy(list, (a) => a.outcome)
  return [...groups].map(([outcome, all]) => ({
    outcome, n: all.length, share: all.length / list.length, last: all[0]!.at,
    latency: at(all.map((a) => a.latency_ms).sort((a, b) => a - b), 0.5),
  })).sort((a, b) => b.n - a.n)
}

const outcomes: Column<Outcome>[] = [
  { title: 'Outcome', cell: (o) => <State of={o.outcome} /> },
  { title: 'Attempts', number: true, cell: (o) => count(o.n) },
  { title: 'Share', cell: (o) => <span class="share"><svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect width={o.share * 100} height="6" /></svg>{(o.share * 100).toFixed(o.share < 0.1 ? 1 : 0)} %</span> },
  { title: 'Latency p50', number: true, cell: (o) => span(o.latency) },
  { title: 'Last', cell: (o) => <Time at={o.last} /> },
]

const columns: Column<EndedAttempt>[] = [
  { title: 'Task', cell: (a) => a.task },
  { title: 'Outcome', cell: (a) => <State of={a.dead ? 'dead' : a.outcome} reason={a.reason} /> },
  { title: 'Ended', cell: (a) => <Time at={a.at} /> },
  { title: 'Attempt', number: true, cell: (a) => a.number },
  { title: 'Late', number: true, cell: (a) => <span class="nowrap">{span(a.late_ms)}</span> },
  { title: 'Waited', number: true, cell: (a) => <span class="nowrap">{span(a.waited_ms)}</span> },
  { title: 'Latency', number: true, cell: (a) => <span class="nowrap">{span(a.latency_ms)}</span> },
  { title: 'Reply', cell: (a) => <ErrorText of={a} /> },
]

const places: Record<'queue' | 'destination', Column<EndedAttempt>> = {
  queue: { title: 'Queue', cell: (a) => <a href={link('queues', a.queue)}>{a.queue}</a> },
  destination: { title: 'Destination', cell: (a) => <DestinationLink name={a.destination} /> },
}

const latest = 20

// AttemptTables shows the latest attempts, and the latest that were not delivered: many
// deliveries would hide these.
export function AttemptTables({ of, place }: { of: EndedAttempt[]; place: 'queue' | 'destination' }) {
  const others = of.filter((a) => a.outcome !== 'delivered')
  const all = [...columns.slice(0, 2), places[place], ...columns.slice(2)]
  const table = (caption: string, rows: EndedAttempt[], keys: boolean) => (
    <>
      <h3>{caption}</h3>
      <Table caption={caption} rows={rows.slice(0, latest)} columns={all} id={(a) => `${a.task}/${a.number}/${a.at}`} href={(a) => link('task', a.task)} keys={keys} />
    </>
  )
  return (
    <>
      {others.length > 0 && table('Not delivered', others, true)}
      {others.length < of.length && table('The latest attempts', of, others.length === 0)}
    </>
  )
}

export function NoAttempts() {
  return <Empty title="No recent attempt.">The server keeps the last 1,000 deliveries and 1,000 other attempts. A restart clears them.</Empty>
}
