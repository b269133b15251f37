import { useSignal } from '@preact/signals'
import { allQueues } from '../../api/queues'
import type { Live, LiveQueue, Queue } from '../../api/openapi.gen'
import { foliot } from '../../format/command'
import { count, plural } from '../../format/number'
import { useData } from '../../state/data'
import { liveQueues, shared } from '../../state/here'
import { useLive } from '../../state/live'
import { link, route, setQuery } from '../../state/route'
import { serverNow } from '../../state/session'
import { Badge } from '../../parts/badge'
import { Command } from '../../parts/copy'
import { Empty, Loaded, Note } from '../../parts/notice'
import { Head, Panel } from '../../parts/panel'
import { Table, type Column } from '../../parts/table'
import { Time } from '../../parts/time'
import { Usage } from '../../parts/usage'
import { CountLink } from './counts'
import { LimitText, limitOf } from './limited'
import { SetLimits } from './settings'

// Row is a queue with its live data.
interface Row {
  queue: Queue
  now?: LiveQueue
  live: Live | null
}

const columns: Column<Row>[] = [
  { title: 'Queue', cell: (r) => r.queue.name },
  { title: 'Limited by', cell: (r) => <Limit of={r} /> },
  { title: 'Running', cell: (r) => <Running of={r} /> },
  { title: 'Rate', number: true, cell: (r) => (r.queue.rate === undefined ? <span class="dim none">—</span> : <span class="nowrap">{r.queue.rate}/s</span>) },
  { title: 'Oldest overdue', cell: (r) => (r.now?.overdue ? <><Time at={serverNow() - (r.now.oldest_ms ?? 0)} mode="relative" /> <small class="dim nowrap">{plural(r.now.overdue, 'task')}</small></> : <span class="dim none">—</span>) },
  ...(['scheduled', 'dead', 'delivered', 'cancelled', 'expired'] as const).map((state): Column<Row> => ({
    title: state[0]!.toUpperCase() + state.slice(1), number: true, cell: (r) => <CountLink queue={r.queue.name} state={state} of={r.queue.counts} />,
  })),
]

function Limit({ of }: { of: Row }) {
  const by = limitOf(of.queue, of.now, of.live)
  if (!by) return <span class={'dim' + (of.now?.overdue ? '' : ' none')}>{of.now?.overdue ? 'tasks wait for their turn' : 'nothing'}</span>
  return (
    <>
      {(by === 'pause' || by === 'purge') && <><Badge tone="warn">{by === 'pause' ? 'paused' : 'purging'}</Badge> </>}
      <LimitText by={by} queue={of.queue} live={of.live} />
    </>
  )
}

// running returns the number of attempts that run. With one server the live data has
// it, each second; otherwise the queue has it, for all servers.
export function running(q: Queue, now: LiveQueue | undefined, live: Live | null): number {
  return live && !shared() ? now?.running ?? 0 : q.counts.running
}

function Running({ of }: { of: Row }) {
  const n = running(of.queue, of.now, of.live)
  if (of.queue.concurrency) return <Usage used={n} of={of.queue.concurrency} />
  return n ? <a href={link('tasks', '', { queue: of.queue.name, state: 'running' })}>{count(n)}</a> : <span class="dim none">0</span>
}

const step = 100

export function List() {
  const live = useLive()
  const data = useData(allQueues, [], 5000)
  const shown = useSignal(step)
  const search = route.value.query.get('name') ?? ''
  const lively = liveQueues(live)
  return (
    <>
      <Head title="Queues" about="A queue is a named set of tasks with common limits. A task that names a queue is enough: no queue must be created.">
        <SetLimits done={data.reload} />
      </Head>
      <form class="filters" role="search" aria-label="Filter" onSubmit={(e) => e.preventDefault()}>
        <label class="field grow"><span>Name contains</span>
          <input data-search="" type="search" spellcheck={false} autocomplete="off" value={search} onInput={(e) => setQuery({ name: e.currentTarget.value.trim() })} />
        </label>
      </form>
      <Panel title="Queues with settings or tasks" aside={shared() && 'overdue and limited by: as this server sees them'}>
        <Loaded data={data}>{({ queues, complete }) => {
          const rows = queues.filter((q) => q.name.includes(search)).map((queue): Row => ({ queue, now: lively.get(queue.name), live }))
          return (
            <>
              {!complete && <Note tone="warn">The page shows the first {count(queues.length)} queues. There are more: use the command.</Note>}
              <Table
                caption="Queues" rows={rows.slice(0, shown.value)} columns={columns} id={(r) => r.queue.name} href={(r) => link('queues', r.queue.name)}
                empty={search
                  ? <Empty title="No queue has this in its name." />
                  : <Empty title="There are no queues." command={foliot('add', 'http://127.0.0.1:9000/hello', '--in', '5s', '--queue', 'mail')}>A queue shows here when it has tasks or settings.</Empty>}
              />
              {rows.length > shown.value && <div class="actions"><button type="button" onClick={() => (shown.value += step)}>Show {Math.min(step, rows.length - shown.value)} more of {count(rows.length)}</button></div>}
            </>
          )
        }}</Loaded>
        <Command text={foliot('queue', 'ls')} />
      </Panel>
    </>
  )
}
