import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { listTasks, type Task } from '../../api/openapi.gen'
import { readPages, type Pages } from '../../api/pages'
import { foliot } from '../../format/command'
import { taskCalls } from '../../format/destination'
import { plural } from '../../format/number'
import { State, stateReason } from '../../parts/badge'
import { ChangeByFilter } from '../../parts/change-by-filter'
import { Command } from '../../parts/command'
import { ChangeOneByOne } from '../../parts/change-one-by-one'
import { Filters } from '../../parts/filters'
import { Empty, Loaded } from '../../parts/notice'
import { Pager } from '../../parts/pager'
import { Head, Panel } from '../../parts/panel'
import { Table, type Column } from '../../parts/table'
import { Time } from '../../parts/time'
import { useData } from '../../state/data'
import { filterOf, flags, query, selects, type Filter } from '../../state/filter'
import { link, route } from '../../state/route'

const columns: Column<Task>[] = [
  { title: 'Name', cell: (t) => t.name },
  { title: 'State', cell: (t) => <State of={t.state} reason={stateReason(t)} /> },
  { title: 'Queue', cell: (t) => <a href={link('queues', t.queue)}>{t.queue}</a> },
  { title: 'Due', cell: (t) => <Time at={t.next_at ?? t.due_at} /> },
  { title: 'Attempts', number: true, cell: (t) => t.attempts.at(-1)?.number ?? '' },
  { title: 'URL', wide: true, cell: (t) => <span class="mono">{taskCalls(t)}</span> },
]

const pageSize = 50

// Tasks lists the tasks that match a filter.
export function Tasks(_: { name: string }) {
  const filter = filterOf()
  const cursor = route.value.query.get('cursor') ?? undefined
  const picked = useSignal(new Set<string>())
  const key = JSON.stringify(filter)
  const data = useData((signal) => page(filter, cursor, signal), [key, cursor], cursor ? 0 : 10000)
  useEffect(() => void (picked.value = new Set()), [key, cursor])
  const selected = data.value?.items.filter((t) => picked.value.has(t.name)) ?? []
  const each = { find: async () => ({ tasks: selected }), done: () => ((picked.value = new Set()), data.reload()) }
  return (
    <>
      <Head title="Tasks">
        <ChangeByFilter key={'retry' + key} verb="retry" filter={filter} done={data.reload} />
        <ChangeByFilter key={'move' + key} verb="move" filter={filter} done={data.reload} />
        <ChangeByFilter key={'cancel' + key} verb="cancel" filter={filter} done={data.reload} />
      </Head>
      <Filters of={filter} />
      <Panel
        title={selects(filter) ? 'Tasks that match' : 'All tasks'}
        aside={selected.length > 0 && <>
          {plural(selected.length, 'task')} selected
          <ChangeOneByOne verb="run" label="Run now" title="Run the selected tasks now" {...each} />
          <ChangeOneByOne verb="cancel" label="Cancel" title="Cancel the selected tasks" {...each} />
        </>}
      >
        <Loaded data={data}>{(list) => (
          <>
            <Table
              caption="Tasks" rows={list.items} columns={columns} id={(t) => t.name} href={(t) => link('task', t.name)}
              selected={picked.value} onSelect={(s) => (picked.value = s)}
              empty={list.next ? <Empty title="No task found yet.">The next page continues the search.</Empty> : selects(filter)
                ? <Empty title="No task matches this filter.">Remove a part of the filter to see more.</Empty>
                : <Empty title="There are no tasks." command={foliot('add', 'http://127.0.0.1:9000/hello', '--in', '5s')}>Create one with a command or a request.</Empty>}
            />
            <Pager next={list.next} />
          </>
        )}</Loaded>
        <Command text={foliot('ls', ...flags(filter).filter((f) => f !== '--all'))} />
      </Panel>
    </>
  )
}

// page returns a page of tasks. If the search takes long, the user decides whether to
// continue.
function page(filter: Filter, from: string | undefined, signal: AbortSignal): Promise<Pages<Task>> {
  return readPages(pageSize, from, async (limit, cursor) => {
    const { tasks, next_cursor } = await listTasks({ ...query(filter), limit, cursor }, undefined, signal)
    return { items: tasks, next: next_cursor }
  })
}
