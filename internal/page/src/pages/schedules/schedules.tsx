import { useSignal } from '@preact/signals'
import { previewSchedule, type Schedule } from '../../api/openapi.gen'
import { foliot } from '../../format/command'
import { plural } from '../../format/number'
import { fromQuery, ruleKeys, zoneOfRule } from '../../format/rule'
import { State } from '../../parts/badge'
import { Command } from '../../parts/command'
import { FilterForm, labelsHint, Parameter } from '../../parts/filters'
import { Empty, Loaded } from '../../parts/notice'
import { Pager } from '../../parts/pager'
import { Head, Panel } from '../../parts/panel'
import { Table, type Column } from '../../parts/table'
import { Time } from '../../parts/time'
import { ScheduleDetail } from './detail'
import { NewSchedule } from './new'
import { lastTasks, TaskStates, unfinished } from './last-tasks'
import { findSchedules, type FoundSchedules, type Search } from './search'
import { reasonToSkip } from './rule-text'
import { useData } from '../../state/data'
import { useLatest, useOnScreen } from '../../state/latest'
import { link, parse, route, setQuery } from '../../state/route'

// The simulator shares most of its parts with the schedules, so both are one file of the
// bundle.
export { Simulator } from './simulator'

// Schedules lists schedules, or shows the one with a name.
export function Schedules({ name }: { name: string }) {
  return name ? <ScheduleDetail name={name} /> : <ScheduleList />
}

const columns: Column<Schedule>[] = [
  { title: 'Name', cell: (s) => s.name },
  { title: 'Rule', cell: (s) => <div>{s.words} {s.cron && <small class="dim">{zoneOfRule(s)}</small>}</div> },
  { title: 'State', cell: (s) => <div><State of={s.held ? 'held' : s.state} />{s.problem && <p class="bad">{s.problem}</p>}</div> },
  { title: 'Next instants', cell: (s) => <NextInstants of={s} /> },
  { title: 'Last tasks', cell: (s) => <LastTasks of={s} /> },
  { title: 'Last skipped', cell: (s) => (s.last_skipped ? <div><Time at={s.last_skipped.until} zone={zoneOfRule(s)} /> <small class="dim">{reasonToSkip(s.last_skipped)}</small></div> : <span class="dim">—</span>) },
]

function ScheduleList() {
  const { query } = route.value
  const search: Search = { label: query.getAll('label'), name: query.get('search') ?? '', state: query.get('state') ?? '' }
  const cursor = query.get('cursor') ?? undefined
  const key = JSON.stringify(search)
  const filtered = search.label.length > 0 || search.name !== '' || search.state !== ''
  const data = useData((signal) => findSchedules(search, cursor, signal), [key, cursor], search.name || search.state ? 30000 : 10000)
  return (
    <>
      <Head title="Schedules">
        <NewSchedule key={query.get('new') ?? ''} initial={fromQuery(query)} opened={query.has('new')} closed={forget} />
      </Head>
      <ScheduleFilters />
      <Panel title={filtered ? 'Schedules that match' : 'All schedules'}>
        <Loaded data={data}>{(list) => (
          <>
            <Table caption="Schedules" rows={list.schedules} columns={columns} id={(s) => s.id} href={(s) => link('schedules', s.name)} empty={noSchedules(list, filtered)} />
            <Pager next={list.next_cursor} />
            {(search.name || search.state) && <p class="dim">{plural(list.read, 'schedule')} read for this search.</p>}
          </>
        )}</Loaded>
        <Command text={foliot('cron', 'ls', ...search.label.map((l) => '--label=' + l))} />
      </Panel>
    </>
  )
}

// forget removes the rule of a new schedule from the address, unless the page goes
// to the schedule that was created.
function forget(): void {
  if (parse(location.hash).name) return
  setQuery({ new: undefined, ...Object.fromEntries(ruleKeys.map((key) => [key, undefined])) })
}

function noSchedules(list: FoundSchedules, filtered: boolean) {
  if (list.next_cursor) return <Empty title="None of the schedules on this page matches.">Continue with the next page.</Empty>
  if (filtered) return <Empty title="No schedule matches this filter.">Remove a part of the filter to see more.</Empty>
  return <Empty title="There are no schedules." command={foliot('cron', 'add', 'hello', '*/5 * * * *', 'http://127.0.0.1:9000/hello')}>Create one with the button above, or with a command. The <a href="#/simulator">simulator</a> shows what a rule does.</Empty>
}

function ScheduleFilters() {
  return (
    <FilterForm>
      <Parameter name="search" label="Name contains" hint="report" main />
      <Parameter name="state" label="State" options={[['active', 'active'], ['paused', 'paused'], ['ended', 'ended'], ['stuck', 'with a problem']]} />
      <Parameter name="label" label="Labels" hint={labelsHint} list />
    </FilterForm>
  )
}

// NextInstants shows the next three instants. It asks for them when the row is on the
// screen, and again when the schedule has moved on.
function NextInstants({ of: s }: { of: Schedule }) {
  const [ref, seen] = useOnScreen<HTMLDivElement>()
  const wanted = seen && s.state !== 'ended'
  const { value, problem } = useLatest(wanted ? (signal) => previewSchedule({ name: s.name, limit: 3 }, undefined, signal) : null, [wanted, s.id, s.version, s.next_at])
  const instants = value?.instants.map((i) => i.at) ?? (s.next_at ? [s.next_at] : [])
  const zone = zoneOfRule(s)
  return (
    <div class="next3" ref={ref}>
      {instants.map((at, i) => (i === 0 ? <Time key={at} at={at} zone={zone} /> : <small key={at} class="dim nowrap"><Time at={at} zone={zone} mode="short" /></small>))}
      {s.state === 'ended' ? <span class="dim">none is left</span> : s.paused && <small class="warn">paused: no tasks</small>}
      {problem && <small class="bad">{problem.detail}</small>}
    </div>
  )
}

// LastTasks shows the states of the last five tasks. While one of them is unfinished, each reading of
// the list asks for them again.
function LastTasks({ of: s }: { of: Schedule }) {
  const [ref, seen] = useOnScreen<HTMLDivElement>()
  const waiting = useSignal(false)
  const { value, problem } = useLatest(seen ? (signal) => lastTasks(s, 5, signal) : null, [seen, s.id, s.runs, waiting.value && s])
  waiting.value = value?.some(unfinished) ?? false
  return <div ref={ref}>{value ? <TaskStates of={value} /> : <span class="dim">{problem?.detail ?? '…'}</span>}</div>
}
