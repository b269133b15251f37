import { useSignal } from '@preact/signals'
import { cancelTask, countDue, listUpcoming, runTask, type Due, type UpcomingCount, type UpcomingItem } from '../../api/openapi.gen'
import { foliot } from '../../format/command'
import { urlOrKind } from '../../format/destination'
import { count, plural } from '../../format/number'
import { full, millis, parts } from '../../format/time'
import { Action, runNow } from '../../parts/action'
import { Badge } from '../../parts/badge'
import { ChangeByFilter } from '../../parts/change-by-filter'
import { Bound, FilterForm, midnight, Parameter } from '../../parts/filters'
import { Empty, Loaded, Note } from '../../parts/notice'
import { Head, Panel } from '../../parts/panel'
import { Table, type Column } from '../../parts/table'
import { Time } from '../../parts/time'
import { useData } from '../../state/data'
import { link, route, setQuery } from '../../state/route'
import { serverNow } from '../../state/session'

// The spans of the timeline, each with the length of its bars, and its whole hours in the
// lists, which begin with the present one.
const spans: Record<string, [title: string, until: string, step: string, hours: number]> = {
  hour: ['The next hour', '1h', '1m', 2],
  day: ['The next day', '25h', '1h', 25],
  week: ['The next week', '168h', '3h', 168],
}

// Upcoming shows the tasks and the instants of schedules that come next.
export function Upcoming(_: { name: string }) {
  const query = route.value.query
  const queue = query.get('queue') ?? ''
  const selected = selectionIn(query)
  const chosen = query.get('span') ?? (selected && Date.parse(selected.to) > serverNow() + 864e5 ? 'week' : 'day')
  const [title, span, step, hours] = spans[chosen] ?? spans.day!
  const counts = useData((signal) => countDue({ until: span, step, queue, by: 'queue' }, undefined, signal), [span, queue], 10000)
  const until = iso(Math.floor(serverNow() / 36e5 + hours) * 36e5 - 1)
  return (
    <>
      <Head title="Upcoming" about="The chart has the tasks that wait, and the lists also those that schedules will create.">
        {Object.entries(spans).map(([key, [name]]) => <button key={key} type="button" aria-pressed={key === chosen} onClick={() => setQuery({ span: key, from: undefined, to: undefined })}>{name}</button>)}
      </Head>
      <FilterForm>
        <Parameter name="queue" label="Queue" hint="any" main />
        <Bound name="from" label="From" quick={{ 'next midnight': () => midnight(1) }} />
        <Bound name="to" label="Until" />
        <label><input type="checkbox" checked={query.has('retries')} onChange={(e) => setQuery({ retries: e.currentTarget.checked ? '1' : undefined })} /> Only attempts after a failure</label>
      </FilterForm>
      <Panel title={title}>
        <Loaded data={counts}>{(due) => <><Overdue due={due} queue={queue} /><Timeline due={due} selected={selected} /></>}</Loaded>
      </Panel>
      <Hours queue={queue} until={until} selected={selected} />
      <Items queue={queue} until={until} retries={query.has('retries')} selected={selected} />
    </>
  )
}

type Selection = { from: string; to: string } | null

// selectionIn returns the times that the user selected. From now, if there is no beginning, and
// for an hour, if there is no end.
function selectionIn(query: URLSearchParams): Selection {
  const [from, to] = ['from', 'to'].map((name) => Date.parse(query.get(name) ?? '')) as [number, number]
  if (Number.isNaN(from) && Number.isNaN(to)) return null
  const begin = Number.isNaN(from) ? serverNow() : from
  return { from: iso(begin), to: iso(Number.isNaN(to) ? Math.min(begin + 36e5, 864e13) : to) }
}

const iso = (at: number) => new Date(at).toISOString()

// within returns the parameters of a call for a selection, or for the time until until.
const within = (selected: Selection, until: string) => ({ from: selected && Date.parse(selected.from) > serverNow() ? selected.from : '0s', until: selected ? iso(Date.parse(selected.to) - 1) : until })

// Overdue links to the tasks that should have been sent. They are neither in the chart
// nor in the list.
function Overdue({ due, queue }: { due: Due; queue: string }) {
  if (due.overdue === 0) return null
  const tasks = link('tasks', '', { state: 'scheduled', due_before: due.time, queue: queue || undefined })
  return <Note tone="warn"><a href={tasks}>{plural(due.overdue, 'overdue task')}</a> {due.overdue === 1 ? 'is' : 'are'} not shown here. <a href="#/now">Now</a> says why {due.overdue === 1 ? 'it is' : 'they are'} late.</Note>
}

const bar = 10
const height = 90
const tones = ['--accent', '--good', '--wait', '--warn', '--teal', '--rose']

// Timeline draws a bar for each step, divided by queue. The user drags over it to
// select a time.
function Timeline({ due, selected }: { due: Due; selected: Selection }) {
  const ring = due.rings[0]!
  const start = Date.parse(ring.from)
  const step = millis(ring.slot)
  const most = Math.max(1, ...ring.counts)
  const queues = ring.queues ?? []
  const total = ring.counts.reduce((a, n) => a + n, 0)
  const drag = useSignal<[number, number] | null>(null)
  const at = (e: PointerEvent) => {
    const box = (e.currentTarget as Element).getBoundingClientRect()
    return Math.max(0, Math.min(ring.counts.length - 1, Math.floor(((e.clientX - box.left) / box.width) * ring.counts.length)))
  }
  const range: [number, number] | null = drag.value ?? (selected && [Math.round((Date.parse(selected.from) - start) / step), Math.round((Date.parse(selected.to) - start) / step) - 1])
  const select = () => {
    if (!drag.value) return
    const [a, b] = drag.value[0] < drag.value[1] ? drag.value : [drag.value[1], drag.value[0]]
    drag.value = null
    setQuery({ from: new Date(start + a * step).toISOString(), to: new Date(start + (b + 1) * step).toISOString() })
  }
  const label = (t: number) => (step * ring.counts.length >= 864e5 ? parts(t).date.slice(5) + ' ' : '') + parts(t).clock.slice(0, 5)
  const width = ring.counts.length * bar
  return (
    <div class="timeline">
      <p><b>{plural(total, 'waiting task')}</b> until {label(start + step * ring.counts.length)}</p>
      <svg
        viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={`${plural(total, 'task')} by due time. The table below has the counts.`}
        onPointerDown={(e) => { (e.currentTarget as Element).setPointerCapture(e.pointerId); drag.value = [at(e), at(e)] }}
        onPointerMove={(e) => { if (drag.value) drag.value = [drag.value[0], at(e)] }} onPointerUp={select} onPointerCancel={() => (drag.value = null)}
      >
        {range && <rect class="selection" x={Math.min(...range) * bar} width={(Math.abs(range[1] - range[0]) + 1) * bar} y="0" height={height} />}
        {ring.counts.map((n, i) => {
          let y = height
          const named = queues.map((q) => q.counts[i] ?? 0)
          const rest = n - named.reduce((a, v) => a + v, 0)
          return [...named, rest].map((v, q) => {
            if (v <= 0) return null
            const h = Math.max(1.5, (v / most) * (height - 6))
            y -= h
            return <rect key={`${i} ${q}`} x={i * bar + 1} width={bar - 2} y={y} height={h} style={{ fill: `var(${tones[q % tones.length]})` }}><title>{`${label(start + i * step)}: ${count(v)} in ${queues[q]?.queue ?? 'other queues'}`}</title></rect>
          })
        })}
      </svg>
      <div class="times dim">{[0, 0.25, 0.5, 0.75, 1].map((share) => <span key={share}>{label(start + share * step * ring.counts.length)}</span>)}</div>
      <p class="legend">{queues.map((q, i) => <a key={q.namespace + q.queue} href={link('upcoming', '', { queue: q.queue, span: route.value.query.get('span') ?? undefined })}><svg viewBox="0 0 14 14" aria-hidden="true"><rect x="1" y="1" width="12" height="12" rx="2" style={{ fill: `var(${tones[i % tones.length]})` }} /></svg>{q.queue} {count(q.counts.reduce((a, n) => a + n, 0))}</a>)}{due.exact_until && <span>The counts are exact until {full(due.exact_until)}.</span>}</p>
      <details>
        <summary>The counts as a table</summary>
        <Table
          caption="Tasks by time" keys={false} rows={ring.counts.map((n, i) => [start + i * step, n, ring.held?.[i] ?? 0] as const).filter(([, n]) => n > 0)} id={([from]) => String(from)}
          columns={[{ title: 'From', cell: ([from]) => full(from) }, { title: 'Tasks', number: true, cell: ([, n]) => count(n) }, { title: 'Held', number: true, cell: ([, , held]) => held || '' }]}
        />
      </details>
    </div>
  )
}

const sum = (all: UpcomingCount[], held: boolean) => all.reduce((n, h) => n + (!!h.held === held ? h.count : 0), 0)

const hourColumns: Column<UpcomingCount[]>[] = [
  { title: 'Hour', cell: ([h]) => <a href={link('upcoming', '', { queue: route.value.query.get('queue') ?? undefined, from: iso(Date.parse(h!.hour)), to: iso(Date.parse(h!.hour) + 36e5) })}>{Date.parse(h!.hour) <= serverNow() ? `now until ${parts(Date.parse(h!.hour) + 36e5).clock.slice(0, 5)}` : `${parts(h!.hour).date} ${parts(h!.hour).clock.slice(0, 5)}`}</a> },
  { title: 'Count', number: true, cell: (all) => <>{count(sum(all, false))}{sum(all, true) > 0 && <small class="warn"> and {count(sum(all, true))} held</small>}</> },
  { title: 'Of these', wide: true, cell: (all) => all.map((h, i) => (
    <>{i > 0 && ', '}<span class="nowrap">
      {count(h.count)} {h.schedule ? <a href={link('schedules', h.schedule)}>{h.schedule}</a> : <a href={link('tasks', '', { state: ['scheduled'], queue: h.queue, due_after: iso(Date.parse(h.hour) - 1), due_before: iso(Date.parse(h.hour) + 36e5) })}>{h.count === 1 ? 'task' : 'tasks'}</a>} in {h.queue ? <a href={link('queues', h.queue)}>{h.queue}</a> : 'other queues'}{h.held && <> <Badge tone="warn">held: {h.held}</Badge></>}
    </span></>
  )) },
]

// Hours counts the tasks and the instants of schedules in each hour.
function Hours({ queue, until, selected }: { queue: string; until: string; selected: Selection }) {
  const time = within(selected, until)
  const data = useData((signal) => listUpcoming({ by: 'hour', ...time, queue }, undefined, signal), [time.from, time.until, queue], 15000)
  return (
    <Panel title="By the hour">
      <Loaded data={data}>{(list) => (
        <>
          <Table caption="By the hour" rows={[...Map.groupBy(list.hours ?? [], (h) => h.hour).values()]} columns={hourColumns} id={([h]) => h!.hour} empty={<Empty title="Nothing is due in this time." />} />
          {list.more && <p class="dim">The counts are complete until {full(list.until)}.</p>}
        </>
      )}</Loaded>
    </Panel>
  )
}

const columns: Column<UpcomingItem>[] = [
  { title: 'Due', cell: (u) => <Time at={u.due} /> },
  { title: 'Name', cell: (u) => u.instant ? <><a href={link('schedules', u.schedule)}>{u.schedule}</a> <Badge tone="info">schedule</Badge></> : <a href={link('task', u.name)}>{u.name}</a> },
  { title: 'Queue', cell: (u) => <a href={link('queues', u.queue)}>{u.queue}</a> },
  { title: 'URL', wide: true, cell: (u) => <span class="mono">{urlOrKind(u.url, u.kind)}</span> },
  { title: 'Notes', cell: (u) => <>{u.held && <Badge tone="warn">held: {u.held}</Badge>} {u.attempt && `attempt ${u.attempt}`} {u.schedule && !u.instant && <>of <a href={link('schedules', u.schedule)}>{u.schedule}</a></>}</> },
  { title: 'Actions', cell: (u) => !u.instant && <ItemActions of={u} /> },
]

function ItemActions({ of: u }: { of: UpcomingItem }) {
  return (
    <div class="actions tight">
      <Action quiet label="Run now" call={runTask} command={foliot('move', u.name, '--now')} run={async () => (await runTask({ name: u.name }), `${u.name} is due now`)}><p><b>{u.name}</b>: {runNow('The task')}</p></Action>
      <Action quiet danger label="Cancel" call={cancelTask} command={foliot('cancel', u.name)} run={async () => ((await cancelTask({ name: u.name })).under_way ? 'One attempt is running. It is the last one.' : `${u.name} is cancelled`)}><p>No attempt of task <b>{u.name}</b> starts any more. If one is running, it is the last one.</p></Action>
    </div>
  )
}

// Items lists the next tasks and instants, or those of the selected time. It leaves
// out overdue tasks: a backlog of them would fill the list.
function Items({ queue, until, retries, selected }: { queue: string; until: string; retries: boolean; selected: Selection }) {
  const time = within(selected, until)
  const data = useData((signal) => listUpcoming({ ...time, queue, limit: retries ? 1000 : 100 }, undefined, signal), [time.from, time.until, queue, retries], retries ? 15000 : 5000)
  const filter = selected && { state: ['scheduled'], due_after: iso(Date.parse(selected.from) - 1), due_before: selected.to, queue: queue || undefined }
  return (
    <Panel title={filter ? 'The selected time' : 'Next'} aside={filter && <button type="button" onClick={() => setQuery({ from: undefined, to: undefined })}>Show all</button>}>
      {selected && <p>{full(selected.from)} until {full(selected.to)}{!retries && <>: <a href={link('tasks', '', filter!)}>list its tasks</a></>}</p>}
      {filter && !retries && <div class="actions"><ChangeByFilter verb="move" filter={filter} label="Move these tasks" done={data.reload} /><ChangeByFilter verb="cancel" filter={filter} label="Cancel these tasks" done={data.reload} /></div>}
      {filter && <p class="dim">{retries
        ? 'Actions on several tasks select them by the due time of the first attempt, so there are none for attempts after a failure.'
        : 'The link and the actions select tasks by the due time of the first attempt. Attempts after a failure, and tasks that schedules will create, are in the list below, but not among those tasks.'}</p>}
      <Loaded data={data}>{(list) => {
        const rows = list.items.filter((u) => (!selected || u.due >= selected.from) && (!retries || (u.attempt ?? 1) > 1))
        return (
          <>
            <Table caption="Upcoming" rows={rows} columns={columns} id={(u) => u.namespace + u.name + u.due} empty={list.more && list.items.length === 0 ? <Empty title="The list is not complete.">Too many queues and destinations have overdue tasks.</Empty> : <Empty title="Nothing is due in this time." command={foliot('add', 'http://127.0.0.1:9000/hello', '--in', '5m')} />} />
            {list.more && list.until > list.time && <p class="dim">The list is complete until {full(list.until)}. <a href={link('upcoming', '', { queue: queue || undefined, retries: retries ? '1' : undefined, from: list.until, to: selected?.to ?? until })}>Continue there</a></p>}
          </>
        )
      }}</Loaded>
    </Panel>
  )
}
