import type { Queue } from '../../api/openapi.gen'
import { allQueues, deadOf } from '../../api/queues'
import { foliot } from '../../format/command'
import { count, plural } from '../../format/number'
import { ChangeByFilter } from '../../parts/change-by-filter'
import { Command } from '../../parts/command'
import { groupsOf, latest, type Collected } from '../../parts/dead-tasks'
import { GroupPanel, Groups } from './groups'
import { Bound, FilterForm, Parameter } from '../../parts/filters'
import { Empty, Loaded, Note, ProblemNote } from '../../parts/notice'
import { Head, Panel } from '../../parts/panel'
import { useData, type Data } from '../../state/data'
import type { Filter } from '../../state/filter'
import { flags, reasons, selects } from '../../state/filter'
import { route } from '../../state/route'

const meaning = 'A task is dead if it may not be retried any more: see its reason. You can retry it by hand until its retention ends.'

// Dead shows the dead tasks in groups by reason and destination. The filter, and the
// group that is open, are in the address.
export function Dead(_: { name: string }) {
  const query = route.value.query
  const filter: Filter = {}
  for (const key of ['queue', 'reason', 'destination', 'ended_after'] as const) if (query.get(key)) filter[key] = query.get(key)!
  const destination = filter.destination ?? ''
  const queues = useData(allQueues, [], 10000)
  const data = useData((signal) => latest(filter, signal), [JSON.stringify(filter)], 15000)
  const some = data.value !== null && !(data.value.complete && data.value.tasks.length === 0)
  const reload = () => (data.reload(), queues.reload())
  return (
    <>
      <Head title="Dead" about={meaning}>
        {some && <ChangeByFilter key={'retry' + JSON.stringify(filter)} verb="retry" filter={{ ...filter, state: ['dead'] }} label="Retry all" done={reload} />}
        {some && <ChangeByFilter key={'cancel' + JSON.stringify(filter)} verb="cancel" filter={{ ...filter, state: ['dead'] }} label="Cancel all" done={reload} />}
      </Head>
      <Filters filter={filter} queues={queues.value?.queues ?? []} />
      <ProblemNote problem={queues.problem} />
      <Loaded data={data}>{(all) => <DeadTasks all={all} filter={filter} destination={destination} queues={queues} reload={reload} />}</Loaded>
      <Command text={foliot('ls', '--state=dead', '--sort=ended', ...flags(filter).filter((f) => f !== '--all'))} />
    </>
  )
}

interface DeadTasksProps {
  all: Collected
  filter: Filter
  destination: string
  queues: Data<{ queues: Queue[]; complete: boolean }>
  reload: () => void
}

function DeadTasks({ all, filter, destination, queues, reload }: DeadTasksProps) {
  const groups = groupsOf(all.tasks)
  const shown = destination ? groups.filter((g) => g.destination === destination) : groups
  const total = totalOf(queues.value, filter)
  if (all.tasks.length === 0 && all.complete) return <Panel title="Groups">{nothing(filter)}</Panel>
  return (
    <>
      {!all.complete && <Note>The groups are of the latest {plural(all.examined, 'dead task')}{total !== null && ` of ${total}`}. Select a queue or a reason to see more of them.</Note>}
      {destination
        ? shown.map((g) => <GroupPanel key={g.key} of={g} all={all} within={filter} done={reload} />)
        : <Panel title="Groups by reason and destination" aside={all.complete && plural(all.tasks.length, 'dead task')}><Groups of={groups} all={all} within={filter} done={reload} /></Panel>}
      {destination && shown.length === 0 && <Panel title={destination}><Empty title="No dead task of this destination is among those that the page examined." /></Panel>}
    </>
  )
}

// totalOf returns the number of dead tasks from the counts of the queues, which know no
// reason, destination or time.
function totalOf(all: { queues: Queue[]; complete: boolean } | null, { queue, ...rest }: Filter): string | null {
  if (!all || selects(rest)) return null
  const queues = all.queues.filter((q) => !queue || q.name === queue)
  if (queue && queues.length === 0) return null
  return deadOf({ queues, complete: all.complete || queue !== undefined })
}

function nothing(filter: Filter) {
  if (selects(filter)) return <Empty title="No dead task matches this filter.">Remove a part of the filter to see more.</Empty>
  return (
    <Empty title="No task is dead." command={foliot('add', 'http://127.0.0.1:9/', '--in', '1s', '--max-attempts', '1')}>
      {meaning} This command makes a task that dies:
    </Empty>
  )
}

function Filters({ filter, queues }: { filter: Filter; queues: Queue[] }) {
  const names = new Set(queues.filter((q) => q.counts.dead > 0).map((q) => q.name))
  if (filter.queue) names.add(filter.queue)
  const dead = (name: string) => queues.find((q) => q.name === name)?.counts.dead ?? 0
  return (
    <FilterForm>
      <Parameter name="queue" label="Queue" options={[...names].sort().map((n) => [n, `${n} (${count(dead(n))})`])} />
      <Parameter name="reason" label="Reason" options={reasons.slice(0, 7).map((r) => [r, r.replaceAll('_', ' ')])} />
      <Parameter name="destination" label="Destination" hint="host:port" main />
      <Bound name="ended_after" label="Died after" />
    </FilterForm>
  )
}
