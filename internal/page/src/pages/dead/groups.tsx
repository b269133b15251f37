import { useSignal } from '@preact/signals'
import type { Task } from '../../api/openapi.gen'
import { taskCalls } from '../../format/destination'
import { count, plural } from '../../format/number'
import type { Filter } from '../../state/filter'
import { link, route } from '../../state/route'
import { Badge } from '../../parts/badge'
import { DestinationLink } from '../../parts/host'
import { Facts, Panel } from '../../parts/panel'
import { Table, type Column } from '../../parts/table'
import { Time } from '../../parts/time'
import { ChangeByFilter } from '../../parts/change-by-filter'
import type { Collected, Group } from '../../parts/dead-tasks'
import { reasonText, reasonWords } from './reasons'
import { Credentials, LastError, lastOf, Reply } from '../../parts/reply'

interface GroupProps {
  all: Collected
  within: Filter
  done: () => void
}

// GroupActions retries or cancels the tasks of a group.
function GroupActions({ of: g, within, done }: GroupProps & { of: Group }) {
  const filter = { ...within, state: ['dead'], reason: g.reason, destination: g.destination }
  return (
    <>
      <ChangeByFilter verb="retry" label="Retry" filter={filter} done={done} />
      <ChangeByFilter verb="cancel" label="Cancel" filter={filter} done={done} />
    </>
  )
}

// groupLink returns the address of the page with one group.
function groupLink(g: Group): string {
  const { query } = route.value
  return link('dead', '', { queue: query.get('queue') ?? '', ended_after: query.get('ended_after') ?? '', reason: g.reason, destination: g.destination })
}

// Groups shows one row for each group.
export function Groups({ of, ...rest }: GroupProps & { of: Group[] }) {
  const columns: Column<Group>[] = [
    { title: 'Reason', cell: (g) => <Badge tone="bad">{reasonWords(g.reason)}</Badge> },
    { title: 'Destination', cell: (g) => <DestinationLink name={g.destination} /> },
    { title: 'Tasks', number: true, cell: (g) => <a href={groupLink(g)}><b>{count(g.tasks.length)}</b></a> },
    { title: 'Last error', cell: (g) => <LastError of={g.tasks[0]!} /> },
    { title: 'Queue', cell: (g) => <Queues of={g.queues} /> },
    { title: 'First died', cell: (g) => <Time at={g.tasks.at(-1)!.finished_at} /> },
    { title: 'Last died', cell: (g) => <Time at={g.tasks[0]!.finished_at} /> },
    { title: 'Actions', cell: (g) => <span class="actions tight"><GroupActions key={g.key} of={g} {...rest} /></span> },
  ]
  return <Table caption="Groups of dead tasks" rows={of} columns={columns} id={(g) => g.key} href={groupLink} />
}

function Queues({ of }: { of: string[] }) {
  return <>{of.slice(0, 3).map((q, i) => <>{i > 0 && ', '}<a href={link('queues', q)}>{q}</a></>)}{of.length > 3 && ` and ${of.length - 3} more`}</>
}

const columns: Column<Task>[] = [
  { title: 'Task', cell: (t) => t.name },
  { title: 'Queue', cell: (t) => <a href={link('queues', t.queue)}>{t.queue}</a> },
  { title: 'Died', cell: (t) => <Time at={t.finished_at} /> },
  { title: 'Attempts', number: true, cell: (t) => t.attempts.at(-1)?.number ?? 0 },
  { title: 'Last error', cell: (t) => <LastError of={t} /> },
  { title: 'URL', wide: true, cell: (t) => <span class="mono clamp" title={taskCalls(t)}>{t.http && (t.http.method ?? 'POST') + ' '}{taskCalls(t)}</span> },
]

const step = 50

// GroupPanel shows a group with its tasks.
export function GroupPanel({ of: g, ...rest }: GroupProps & { of: Group }) {
  const shown = useSignal(step)
  const last = g.tasks[0]!
  return (
    <Panel title={`${reasonWords(g.reason)} · ${g.destination}`} aside={<><GroupActions of={g} {...rest} /><a class="button" href={link('dead')}>All groups</a></>}>
      <Facts of={[
        ['Dead tasks', <b>{count(g.tasks.length)}{!rest.all.complete && ' of those that the page examined'}</b>],
        ['Reason', reasonText[g.reason] ?? reasonWords(g.reason)],
        ['Destination', <DestinationLink name={g.destination} />],
        ['Queue', <Queues of={g.queues} />],
        ['First and last died', <><Time at={g.tasks.at(-1)!.finished_at} /> — <Time at={last.finished_at} /></>],
        ['Last error', <LastError of={last} />],
        ['Last reply', <Reply of={last} />],
      ]} />
      <Credentials queue={last.queue} of={lastOf(last)} />
      <Table caption={`Dead tasks of ${g.destination}`} rows={g.tasks.slice(0, shown.value)} columns={columns} id={(t) => t.id} href={(t) => link('task', t.name)} />
      {g.tasks.length > shown.value && <div class="actions"><button type="button" onClick={() => (shown.value += step)}>Show {plural(Math.min(step, g.tasks.length - shown.value), 'task')} more</button></div>}
    </Panel>
  )
}
