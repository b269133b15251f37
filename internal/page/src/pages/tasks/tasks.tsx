import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { allQueues } from '../../api/queues'
import { listTasks, type Task } from '../../api/openapi.gen'
import { readPages, type Pages } from '../../api/pages'
import { foliot } from '../../format/command'
import { taskCalls } from '../../format/destination'
import { count, plural } from '../../format/number'
import { State, stateReason } from '../../parts/badge'
import { ChangeByFilter } from '../../parts/change-by-filter'
import { Command } from '../../parts/command'
import { ChangeOneByOne } from '../../parts/change-one-by-one'
import { Filters, midnight } from '../../parts/filters'
import { Empty, Loaded, Note } from '../../parts/notice'
import { Pager } from '../../parts/pager'
import { Head, Panel } from '../../parts/panel'
import { Table, type Column } from '../../parts/table'
import { Time, useNow } from '../../parts/time'
import { useData } from '../../state/data'
import { filterOf, flags, query, selects, states, type Filter } from '../../state/filter'
import { link, route, setQuery } from '../../state/route'
import { serverNow } from '../../state/session'
import { NewTask } from './new'

const columns: Column<Task>[] = [
  { title: 'Name', cell: (t) => t.name },
  { title: 'State', cell: (t) => <State of={t.state} reason={stateReason(t)} /> },
  { title: 'Queue', cell: (t) => <a href={link('queues', t.queue)}>{t.queue}</a> },
  { title: 'Due or ended', cell: (t) => (t.finished_at ? <span class="nowrap">ended <Time at={t.finished_at} mode="relative" /></span> : <Time at={t.next_at ?? t.due_at} />) },
  { title: 'Attempts', number: true, cell: (t) => t.attempts.at(-1)?.number ?? '' },
  { title: 'URL', wide: true, cell: (t) => <span class="mono">{taskCalls(t)}</span> },
]

const pageSize = 50

// sorted is the number of tasks that the page reads for an order that the store does not
// have.
const sorted = 1000

const due = (t: Task) => Date.parse(t.finished_at ? '9999' : t.next_at ?? t.due_at)

const orders: Record<string, [title: string, compare?: (a: Task, b: Task) => number]> = {
  '': ['unsorted'],
  newest: ['newest first', (a, b) => Date.parse(b.created_at) - Date.parse(a.created_at)],
  due: ['next due first', (a, b) => due(a) - due(b)],
  ended: ['latest end first'],
}

// Views are filters that are often needed.
function Views() {
  useNow()
  const at = (time: number) => new Date(time).toISOString()
  const views: [string, Record<string, string>][] = [
    ['Overdue', { state: 'scheduled', due_before: at(serverNow()), order: 'due' }],
    ['Due today', { state: 'scheduled', due_before: at(midnight(1)), order: 'due' }],
    ['Ended today', { ended_after: at(midnight(0)), order: 'ended' }],
    ['Died today', { state: 'dead', ended_after: at(midnight(0)), order: 'ended' }],
    ['Newest', { order: 'newest' }],
  ]
  return <nav class="actions" aria-label="Views">{views.map(([title, query]) => <a key={title} class="button" href={link('tasks', '', query)}>{title}</a>)}</nav>
}

// States has a tab for each state, with the number of its tasks if no other filter is set.
function States({ filter: { state, queue, ...rest } }: { filter: Filter }) {
  const other = selects(rest)
  const queues = useData(other ? null : allQueues, [other], 10000)
  const counts = other || !queues.value?.complete ? null : queues.value.queues.filter((q) => !queue || q.name === queue).map((q) => q.counts)
  const of = (s: string) => (counts && s !== 'held' ? ' ' + count(counts.reduce((n, c) => n + c[s as 'dead'], 0)) : '')
  const at = state?.join() ?? ''
  const query = Object.fromEntries([...route.value.query.keys()].filter((k) => k !== 'cursor').map((k) => [k, route.value.query.getAll(k)]))
  return (
    <nav class="tabs" aria-label="States">
      {['', ...states].map((s) => <a key={s} href={link('tasks', '', { ...query, state: s })} aria-current={s === at ? 'page' : undefined}>{s ? s + of(s) : 'all'}</a>)}
    </nav>
  )
}

// Tasks lists the tasks that match a filter.
export function Tasks(_: { name: string }) {
  const filter = filterOf()
  const cursor = route.value.query.get('cursor') ?? undefined
  const picked = useSignal(new Set<string>())
  const live = filter.state?.some((s) => ['scheduled', 'held', 'running'].includes(s)) ?? false
  const asked = route.value.query.get('order') ?? ''
  const order = !Object.hasOwn(orders, asked) || (asked === 'ended' && live) ? '' : asked
  const shown: Filter = order === 'ended' && !filter.state ? { ...filter, state: ['delivered', 'cancelled', 'expired', 'dead'] } : filter
  const key = JSON.stringify([filter, order])
  const data = useData((signal) => page(filter, order, cursor, signal), [key, cursor], cursor ? 0 : orders[order]?.[1] ? 30000 : 10000)
  useEffect(() => void (picked.value = new Set()), [key, cursor])
  const selected = data.value?.items.filter((t) => picked.value.has(t.name)) ?? []
  const each = { tasks: selected, done: () => ((picked.value = new Set()), data.reload()) }
  return (
    <>
      <Head title="Tasks">
        <NewTask />
        <ChangeByFilter key={'retry' + key} verb="retry" filter={shown} done={data.reload} />
        <ChangeByFilter key={'move' + key} verb="move" filter={shown} done={data.reload} />
        <ChangeByFilter key={'cancel' + key} verb="cancel" filter={shown} done={data.reload} />
      </Head>
      <Views />
      <Filters of={filter} />
      <States filter={filter} />
      <Panel
        title={(selects(shown) ? 'Tasks that match' : 'All tasks') + (data.value && !data.value.next && !cursor ? ` (${count(data.value.read)})` : '')}
        aside={selected.length === 0 ? (
          <label class="actions">Order <select value={order} onChange={(e) => setQuery({ cursor: undefined, order: e.currentTarget.value })}>{Object.entries(orders).filter(([o]) => o !== 'ended' || !live).map(([o, [title]]) => <option key={o} value={o}>{title}</option>)}</select></label>
        ) : <>
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
              empty={list.next ? <Empty title="No task found yet.">The next page continues the search.</Empty> : selects(shown)
                ? <Empty title="No task matches this filter.">Remove a part of the filter to see more.</Empty>
                : <Empty title="There are no tasks." command={foliot('add', 'http://127.0.0.1:9000/hello', '--in', '5s')}>Create one with a command or a request.</Empty>}
            />
            {!orders[order]?.[1] || cursor || list.items.length === 0 ? <Pager next={list.next} /> : (list.next || list.read > list.items.length) && (
              <Note>These are the first {count(list.items.length)} of {list.next ? `${count(list.read)} tasks that the server listed first` : plural(list.read, 'task')}. A narrower filter shows the others.{order === 'due' && <> <a href={link('upcoming')}>Upcoming</a> has the next tasks of all.</>}</Note>
            )}
          </>
        )}</Loaded>
        {!orders[order]?.[1] && <Command text={foliot('ls', ...(order === 'ended' ? ['--sort=ended'] : []), ...flags(filter).filter((f) => f !== '--all'))} />}
      </Panel>
    </>
  )
}

// page returns a page of tasks. If the search takes long, the user decides whether to
// continue.
async function page(filter: Filter, order: string, from: string | undefined, signal: AbortSignal): Promise<Pages<Task> & { read: number }> {
  const compare = orders[order]?.[1]
  const ended = order === 'ended' ? { order } as const : {}
  const pages = await readPages('tasks', compare ? sorted : pageSize, from, (page) => listTasks({ ...query(filter), ...ended, ...page }, undefined, signal))
  const read = pages.items.length
  if (filter.contains) pages.items.sort((a, b) => a.name.length - b.name.length) // the closest first
  return compare ? { next: pages.next, items: pages.items.sort(compare).slice(0, 2 * pageSize), read } : { ...pages, read }
}
