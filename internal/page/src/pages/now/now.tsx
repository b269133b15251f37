import { useSignal } from '@preact/signals'
import { useMemo, useRef } from 'preact/hooks'
import { allQueues, deadOf } from '../../api/queues'
import { cluster, countDue, history, listAttempts, type Due, type EndedAttempt } from '../../api/openapi.gen'
import { Heatmap, HistoryTables } from './charts/heatmap'
import { Lines, type Line } from './charts/lines'
import { foliot, foliotIn } from '../../format/command'
import { count, plural } from '../../format/number'
import { full, millis, span } from '../../format/time'
import { State } from '../../parts/badge'
import { Command } from '../../parts/command'
import { DestinationLink } from '../../parts/host'
import { failures } from '../../api/attempts'
import { Empty, Loaded, Note } from '../../parts/notice'
import { Head, Panel } from '../../parts/panel'
import { ErrorText } from '../../parts/reply'
import { Table, type Column } from '../../parts/table'
import { Time } from '../../parts/time'
import { useData, type Data } from '../../state/data'
import { connected, useLive } from '../../state/live'
import { otherNamespace } from '../../state/current-namespace'
import { link, route, setQuery } from '../../state/route'
import { operator, selectedOrAll } from '../../state/session'
import { reducedMotion, frozen } from '../../state/settings'
import type { History, Live } from '../../api/openapi.gen'
import { Failing } from './failing'
import { Overdue } from './overdue'
import { Bars, SlotTable } from './wheel/bars'
import { type Ring } from './wheel/model'
import { save, Wheel, type WheelData } from './wheel/wheel'

// Now answers three questions: is anything late, which tasks cannot be sent, and why.
export function Now(_: { name: string }) {
  const live = useLive()
  const waiting = useData((signal) => rings(signal), [], 1000)
  const queues = useData(allQueues, [], 10000)
  const hour = useData((signal) => history.in(selectedOrAll())({}, undefined, signal), [], 10000)
  return (
    <>
      <Head title="Now" about={!connected.value && 'Waiting for live data…'} />
      {live && <Figures live={live} overdue={waiting.value?.overdue} dead={queues.value ? deadOf(queues.value) : undefined} failed={hour.value?.steps.reduce((n, s) => n + (s.failed ?? 0) + (s.refused ?? 0), 0)} />}
      {operator.value && <UnreadyNodes />}
      <div class="grid">
        <div class="two-thirds"><WheelPanel live={live} data={waiting} /></div>
        <div class="third stack">
          <Overdue live={live} overdue={waiting.value?.overdue} queues={queues} />
          <Failing live={live} />
        </div>
        <div class="wide"><Past hour={hour} /></div>
        <div class="wide" id={failuresId} tabIndex={-1}><Failures /></div>
      </div>
    </>
  )
}

// UnreadyNodes names the nodes that are not ready.
function UnreadyNodes() {
  const nodes = useData((signal) => cluster({}, undefined, signal), [], 10000)
  return (
    <>
      {nodes.value?.nodes.filter((n) => !n.ready).map((n) => (
        <Note key={n.name} tone="warn">The node <a href={link('server', '', { tab: 'nodes' })}>{n.name}</a> is not ready{n.last_seen_at && <>. Its last heartbeat came <Time at={n.last_seen_at} mode="relative" /></>}. {n.owned ? 'Its due tasks wait until its shard leases end: the link shows when.' : 'Other nodes deliver its tasks.'}</Note>
      ))}
    </>
  )
}

// Node says that the figures are those of one of several servers.
function Node({ name }: { name?: string }) {
  return name ? <p class="dim">These figures are those of this server ({name}). Other servers have their own.</p> : null
}

// rings returns the counts of the five rings. The first one has half a turn more, so
// that it is whole until the next counts arrive.
async function rings(signal: AbortSignal): Promise<Due> {
  const [all, next] = await Promise.all([countDue({ rings: 5 }, undefined, signal), countDue({ until: '6144ms', step: '64ms' }, undefined, signal)])
  return { ...all, rings: [next.rings[0]!, ...all.rings.slice(1)] }
}

// known returns a count as text, and … until it is known.
const known = (n: number | undefined) => (n === undefined ? '…' : count(n))

// Figures shows counts of the namespace. The figures of the live data are those of all
// namespaces, and only operators get these.
function Figures({ live, overdue, dead, failed }: { live: Live; overdue?: number; dead?: string; failed?: number }) {
  const before = useRef<{ live: Live; rate?: number } | null>(null)
  const ended = (l: Live) => (l.attempts ? l.attempts.delivered + l.attempts.failed + l.attempts.snoozed + l.attempts.refused : 0)
  if (before.current?.live !== live) {
    const last = before.current?.live
    const seconds = last ? (Date.parse(live.at) - Date.parse(last.at)) / 1000 : 0
    before.current = { live, rate: seconds > 0 ? Math.max(0, ended(live) - ended(last!)) / seconds : before.current?.rate }
  }
  const { rate } = before.current
  const all = operator.value ? ' (server)' : ''
  const figures: [string, string, string?, ((event: Event) => void)?][] = [
    ['overdue', known(overdue), link('tasks', '', { state: 'scheduled', due_before: live.at })],
    ['dead', dead ?? '…', link('dead')],
    ['attempts failed in the last hour', known(failed), link('now'), goToFailures],
    ...(live.attempts ? [['attempts per second' + all, rate === undefined ? '…' : rate.toFixed(rate < 10 ? 1 : 0)]] as [string, string][] : []),
    ['attempts running' + (live.slots ? ` (server, limit ${count(live.slots)})` : all), count(live.running ?? live.queues.reduce((n, q) => n + q.running, 0)), link('tasks', '', { state: 'running' })],
    ...(live.late ? [['lateness p50 of the last minute' + all, span(live.late.p50_ms)], ['lateness p99 of the last minute' + all, span(live.late.p99_ms)], ['waited for receivers, limits and pauses, p99' + all, span(live.waited?.p99_ms ?? 0)]] as [string, string][] : []),
  ]
  return (
    <div class="figures">
      {figures.map(([name, value, href, onClick]) => <div class="figure" key={name}><b>{href ? <a href={href} onClick={onClick}>{value}</a> : value}</b><span>{name}</span></div>)}
    </div>
  )
}

const failuresId = 'failures'

// goToFailures shows the list of failures. The address stays, because it names the page.
function goToFailures(event: Event): void {
  event.preventDefault()
  const list = document.getElementById(failuresId)
  list?.scrollIntoView()
  list?.focus({ preventScroll: true })
}

function WheelPanel({ live, data }: { live: Live | null; data: Data<Due> }) {
  const box = useRef<HTMLDivElement>(null)
  const shown = useRef<Due | null>(null)
  if (!frozen.value || !shown.current) shown.current = data.value
  const value = shown.current
  const drawn = useMemo((): WheelData => ({ // the same object, so the same drawing, until the next counts
    rings: value?.rings.map(ringOf) ?? [], waiting: value?.scheduled ?? 0, overdue: value?.overdue ?? 0, nearUntil: Date.parse(value?.near_until ?? '') || Date.parse(value?.time ?? '') + 5000,
  }), [value])
  return (
    <Panel title="Everything that waits" aside={<>
      <button type="button" aria-pressed={frozen.value} onClick={() => (frozen.value = !frozen.value)}>{frozen.value ? 'Continue' : 'Freeze'}</button>
      {!reducedMotion.value && <button type="button" onClick={() => box.current && save(box.current.querySelector('.wheel svg')!)}>Save as SVG</button>}
    </>}>
      <Loaded data={{ ...data, value }}>{(d) => (
        <div ref={box}>
          {reducedMotion.value ? <Bars rings={drawn.rings} /> : <Wheel live={frozen.value ? null : live} data={drawn} />}
          <Legend due={d} />
          <SlotTable rings={drawn.rings} at={d.time} />
          {d.scheduled === 0 && <Empty title="Nothing is waiting." command={foliot('add', 'http://127.0.0.1:9000/hello', '--in', '5s')}>Create a task, and see it here.</Empty>}
        </div>
      )}</Loaded>
    </Panel>
  )
}

function ringOf(ring: Due['rings'][number]): Ring {
  return { slot: millis(ring.slot), from: Date.parse(ring.from), counts: ring.counts, held: ring.held ?? [] }
}

function Legend({ due: d }: { due: Due }) {
  return (
    <div class="legend">
      <span><svg viewBox="0 0 14 14"><rect class="slot near" x="1" y="1" width="12" height="12" rx="2" /></svg>the server has tasks of this slot in memory</span>
      <span><svg viewBox="0 0 14 14"><rect class="slot" x="1" y="1" width="12" height="12" rx="2" fill-opacity=".4" /></svg>not in memory yet</span>
      <span><svg viewBox="0 0 14 14"><rect x="1" y="1" width="12" height="12" rx="2" class="held" fill="url(#hatch)" /></svg>held by a pause, a purge or a suspension</span>
      <span>Brighter means more tasks. {d.exact_until ? `The counts are exact until ${full(d.exact_until)}.` : 'The counts are exact.'}</span>
      {d.timers !== undefined && <span>{plural(d.timers, 'timer')} {d.timers === 1 ? 'is' : 'are'} set: one for all tasks with the same queue, priority and destination.</span>}
      {d.later > 0 && <span>{plural(d.later, 'task')} later than the last ring.</span>}
    </div>
  )
}

// The times that the history can cover, each with the length of a step.
const spans: Record<string, [title: string, from: string, step: string]> = {
  hour: ['The last hour', '-1h', '1m'],
  day: ['The last day', '-24h', '1h'],
  week: ['The last week', '-168h', '1h'],
  quarter: ['The last 90 days', '-2160h', '24h'],
}

// Past shows what happened, on all servers that share the store.
function Past({ hour }: { hour: Data<History> }) {
  const open = useSignal(false)
  const chosen = route.value.query.get('past') ?? 'hour'
  const [title, from, step] = spans[chosen] ?? spans.hour!
  const queue = route.value.query.get('queue') ?? ''
  const whole = chosen === 'hour' && !queue
  const part = useData(async (signal) => (whole ? undefined : history.in(selectedOrAll())({ from, step, queue }, undefined, signal)), [chosen, queue], 30000)
  const data = whole ? hour : part
  const queues = new Set([...[hour, part].flatMap((h) => h.value?.queues.map((q) => q.queue ?? '') ?? []), queue].filter(Boolean))
  return (
    <Panel title={title} aside={<><select aria-label="Queue" value={queue} onChange={(e) => setQuery({ queue: e.currentTarget.value })}><option value="">all queues</option>{[...queues].sort().map((q) => <option key={q} value={q}>{q}</option>)}</select>{Object.entries(spans).map(([key, [name]]) => <button key={key} type="button" aria-pressed={key === chosen} onClick={() => setQuery({ past: key })}>{name}</button>)}</>}>
      <Loaded data={data}>{(h) => (!h || h.steps.length === 0 ? <Empty title="Nothing happened in this time." /> : (
        <>
          <p><b>{plural(total(h, 'attempts'), 'attempt')}</b>: {count(total(h, 'delivered'))} delivered, {count(total(h, 'failed') + total(h, 'refused'))} failed or refused, {plural(total(h, 'dead'), 'task')} died.</p>
          <div class="grid">
            <div><h3>Lateness of attempts, without delays by receivers, limits and pauses</h3><Heatmap history={h} /></div>
            <div><h3>Attempts per {millis(h.step) < 36e5 ? 'second' : 'hour'}</h3><Rates history={h} /></div>
          </div>
          <HistoryTables history={h} open={open} />
          <Command text={foliotIn(selectedOrAll(), 'stats', '--from', from, '--step', step, queue ? `--queue=${queue}` : null)} label="A command that shows the same" />
        </>
      ))}</Loaded>
    </Panel>
  )
}

const total = (h: History, of: 'attempts' | 'delivered' | 'failed' | 'refused' | 'dead') => h.steps.reduce((n, s) => n + (s[of] ?? 0), 0)

function Rates({ history: h }: { history: History }) {
  const step = millis(h.step)
  const unit = step < 36e5 ? 1000 : 36e5
  const byTime = new Map(h.steps.map((s) => [Date.parse(s.at!), s]))
  const times: number[] = []
  // A step in which nothing happened is missing in the reply: there it is zero.
  for (let t = Date.parse(h.from); t < Date.parse(h.until); t += step) times.push(t)
  const line = (label: 'delivered' | 'failed' | 'snoozed' | 'refused', tone: Line['tone'], dash: string): Line =>
    ({ label, tone, dash, values: times.map((t) => (byTime.get(t)?.[label] ?? 0) / (step / unit)) })
  return <Lines times={times} unit={unit === 1000 ? '/s' : '/h'} lines={[line('delivered', 'good', ''), line('failed', 'bad', '6 3'), line('snoozed', 'warn', '2 3'), line('refused', 'wait', '10 4')]} />
}

const failureColumns: Column<EndedAttempt>[] = [
  { title: 'Task', cell: (a) => <a href={link('task', a.task, { namespace: otherNamespace(a.namespace) })}>{otherNamespace(a.namespace) && a.namespace + ' / '}{a.task}</a> },
  { title: 'Ended', cell: (a) => <Time at={a.at} /> },
  { title: 'Outcome', cell: (a) => <State of={a.dead ? 'dead' : a.outcome} reason={a.reason} /> },
  { title: 'Queue', cell: (a) => <a href={link('queues', a.queue, { namespace: otherNamespace(a.namespace) })}>{a.queue}</a> },
  { title: 'Destination', cell: (a) => <DestinationLink name={a.destination} namespace={a.namespace} /> },
  { title: 'Reply', wide: true, cell: (a) => <ErrorText of={a} /> },
  { title: 'Attempt', number: true, cell: (a) => a.number },
]

function Failures() {
  const data = useData((signal) => listAttempts.in(selectedOrAll())({ outcome: [...failures, 'lost_lease'], limit: 20 }, undefined, signal), [], 5000)
  return (
    <Panel title="Recent failures and lost leases">
      <Loaded data={data}>{(list) => (
        <>
          <Node name={list.node} />
          <Table caption="Recent failures and lost leases" rows={list.attempts} columns={failureColumns} id={(a) => a.namespace + a.task + a.number + a.at} empty={<Empty title="No attempt has failed or lost its lease since this server started." />} />
        </>
      )}</Loaded>
      <Command text={foliotIn(selectedOrAll(), 'top')} label="A command that shows the same" />
    </Panel>
  )
}

