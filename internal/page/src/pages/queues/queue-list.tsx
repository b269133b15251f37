import { useSignal } from '@preact/signals'
import { allQueues, readBacklog, type Backlog } from '../../api/queues'
import { isFailure, sinceOf } from '../../api/attempts'
import { listAttempts, type EndedAttempt, type Live, type LiveQueue, type Queue } from '../../api/openapi.gen'
import { foliot } from '../../format/command'
import { count, plural } from '../../format/number'
import { useData } from '../../state/data'
import { useLatest } from '../../state/latest'
import { currentNamespace, liveQueues, ofCurrentNamespace } from '../../state/current-namespace'
import { useLive } from '../../state/live'
import { link, route, setQuery } from '../../state/route'
import { serverNow, shared } from '../../state/session'
import { Command } from '../../parts/command'
import { Empty, Loaded, Note } from '../../parts/notice'
import { Head, Panel } from '../../parts/panel'
import { Table, type Column } from '../../parts/table'
import { Time } from '../../parts/time'
import { Usage } from '../../parts/usage'
import { CountLink } from './counts'
import { Failure, LimitBadge, LimitText, limitOf, running } from '../../parts/limit-reason'
import { EditSettings } from './settings'

// Row is a queue with its live data.
interface Row {
  queue: Queue
  now?: LiveQueue
  live: Live | null
  by: string // the limit
  backlog?: Backlog
  last?: EndedAttempt
  since?: number // after this time no attempt is missing
}

const columns: Column<Row>[] = [
  { title: 'Queue', cell: (r) => r.queue.name },
  { title: 'Limited by', cell: (r) => <Limit of={r} /> },
  { title: 'Running', cell: (r) => <Running of={r} /> },
  { title: 'Rate', number: true, cell: (r) => (r.queue.rate === undefined ? <span class="dim none">—</span> : <span class="nowrap">{r.queue.rate}/s</span>) },
  { title: 'Oldest overdue', cell: (r) => <Oldest of={r} /> },
  ...(['scheduled', 'dead', 'delivered', 'cancelled', 'expired'] as const).map((state): Column<Row> => ({
    title: state[0]!.toUpperCase() + state.slice(1), number: true, cell: (r) => <CountLink queue={r.queue.name} state={state} of={r.queue.counts} />,
  })),
]

function Limit({ of: { by, ...row } }: { of: Row }) {
  if (!by && isFailure(row.last)) return <p><Failure of={row.last} since={row.since ?? 0} /></p>
  if (!by) return <span class={'dim' + (row.now?.overdue ? '' : ' none')}>{row.now?.overdue ? 'tasks wait for their turn' : 'nothing'}</span>
  return (
    <p>{(by === 'pause' || by === 'purge') && <LimitBadge by={by} />} <LimitText by={by} name={row.queue.name} namespace={currentNamespace()} {...row} /></p>
  )
}

function Oldest({ of: { now, backlog } }: { of: Row }) {
  const n = backlog?.overdue ?? now?.overdue
  if (!n) return <span class="dim none">—</span>
  return <><Time at={backlog?.oldest ?? serverNow() - (now?.oldest_ms ?? 0)} mode="relative" /> <small class="dim nowrap">{plural(n, 'task')}</small></>
}

function Running({ of }: { of: Row }) {
  const n = running(of.queue, of.now, of.live)
  if (of.queue.concurrency) return <Usage used={n} of={of.queue.concurrency} />
  return n ? <a href={link('tasks', '', { queue: of.queue.name, state: 'running' })}>{count(n)}</a> : <span class="dim none">0</span>
}

const step = 100

// The number of queues whose overdue tasks are counted, which needs two requests each.
const counted = 20

// readBacklogs counts the overdue tasks of queues that hold tasks back.
async function readBacklogs(names: string[], signal: AbortSignal): Promise<Map<string, Backlog>> {
  return new Map(await Promise.all(names.map(async (name) => [name, await readBacklog(name, currentNamespace(), signal)] as const)))
}

export function QueueList() {
  const live = useLive()
  const data = useData(allQueues, [], 5000)
  const shown = useSignal(step)
  const search = route.value.query.get('name') ?? ''
  const lively = liveQueues(live)
  const recent = useData((signal) => listAttempts({ limit: 1000 }, undefined, signal), [], 10000)
  const last = new Map(ofCurrentNamespace(recent.value?.attempts).reverse().map((a) => [a.queue, a]))
  const rows = data.value?.queues.filter((q) => q.name.includes(search)).map((queue): Row => ({ queue, now: lively.get(queue.name), live, by: limitOf(currentNamespace(), queue, lively.get(queue.name), live) })) ?? []
  const limited = rows.slice(0, shown.value).filter((r) => r.by && r.queue.counts.scheduled > 0).slice(0, counted).map((r) => r.queue.name)
  const backlogs = useLatest((signal) => readBacklogs(limited, signal), [limited.join(' '), data.value])
  for (const r of rows) (r.backlog = backlogs.value?.get(r.queue.name)), (r.last = last.get(r.queue.name)), (r.since = recent.value ? sinceOf(recent.value) : 0)
  return (
    <>
      <Head title="Queues" about="A queue is a named set of tasks with common limits. You do not need to create a queue. It exists when a task names it.">
        <EditSettings done={data.reload} />
      </Head>
      <form class="filters" role="search" aria-label="Filter" onSubmit={(e) => e.preventDefault()}>
        <label class="field grow"><span>Name contains</span>
          <input data-search="" type="search" spellcheck={false} autocomplete="off" value={search} onInput={(e) => setQuery({ name: e.currentTarget.value.trim() })} />
        </label>
      </form>
      <Panel title="Queues with settings or tasks" aside={shared() && 'Limited by and Oldest overdue: as far as this server knows'}>
        <Loaded data={data}>{({ queues, complete }) => {
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
