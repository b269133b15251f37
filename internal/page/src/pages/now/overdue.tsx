import { readBacklog } from '../../api/queues'
import type { Live, LiveQueue, Queue } from '../../api/openapi.gen'
import { plural } from '../../format/number'
import { LimitText, limitOf } from '../../parts/limit-reason'
import { Note } from '../../parts/notice'
import { Panel } from '../../parts/panel'
import { Pause, Resume } from '../../parts/pause'
import { Time } from '../../parts/time'
import { useData, type Data } from '../../state/data'
import { currentNamespace, otherNamespace } from '../../state/current-namespace'
import { link } from '../../state/route'
import { operator } from '../../state/session'
import { EditSettings } from '../queues/settings'

const shown = 12

interface OverdueProps {
  live: Live | null
  overdue?: number
  queues: Data<{ queues: Queue[]; complete: boolean }>
}

interface Row {
  name: string
  namespace: string
  queue?: Queue
  now?: LiveQueue
}

// Overdue lists the queues with tasks that should have been sent, and the reasons. The
// live data counts no tasks of a held queue, so held queues are those of the settings.
export function Overdue({ live, overdue, queues }: OverdueProps) {
  const all = queues.value?.queues ?? []
  const byName = new Map(all.map((q) => [q.name, q]))
  const stopped = all.filter((q) => (q.paused || q.purging) && q.counts.scheduled > 0)
  const names = new Set(stopped.map((q) => q.name))
  const rows: Row[] = [
    ...stopped.map((queue) => ({ name: queue.name, namespace: currentNamespace(), queue })),
    ...(live?.queues ?? []).filter((q) => q.overdue > 0 && (otherNamespace(q.namespace) || !names.has(q.queue)))
      .map((now) => ({ name: now.queue, namespace: now.namespace, queue: otherNamespace(now.namespace) ? undefined : byName.get(now.queue), now })),
  ]
  // The count is that of one namespace, and the live data can have more of them.
  const due = overdue === 0 ? rows.filter((r) => otherNamespace(r.namespace)) : rows
  return (
    <Panel title="Overdue, and why">
      {overdue === 0 && <Note tone="good">No task{operator.value && ` of the namespace ${currentNamespace()}`} is overdue.</Note>}
      {due.slice(0, shown).map((r) => <OverdueQueue key={r.namespace + '/' + r.name} of={r} live={live} done={queues.reload} />)}
      {due.length > shown && <p class="dim">{plural(due.length - shown, 'more queue')} may have overdue tasks: see <a href="#/queues">Queues</a>.</p>}
      {queues.value?.complete === false && <p class="dim">The page reads the first {plural(all.length, 'queue')}. A paused queue after these is not listed.</p>}
    </Panel>
  )
}

function OverdueQueue({ of: { name, namespace, queue, now }, live, done }: { of: Row; live: Live | null; done: () => void }) {
  const data = useData((signal) => readBacklog(name, namespace, signal), [name, namespace], 10000)
  const backlog = data.value
  const by = limitOf(namespace, queue, now, live)
  const n = backlog?.overdue ?? now?.overdue
  if (!n) return null
  const other = otherNamespace(namespace)
  const reload = () => (done(), data.reload())
  return (
    <div>
      <h3><a href={link('tasks', '', { queue: name, state: 'scheduled', due_before: live?.at, namespace: other })}>{plural(n, 'task')}</a> in <a href={link('queues', name, { namespace: other })}>{other && other + ' / '}{name}</a></h3>
      <p><LimitText by={by} name={name} namespace={namespace} queue={queue} backlog={backlog} live={live} /> {backlog?.oldest && <span class="dim">The oldest became due <Time at={backlog.oldest} mode="relative" />.</span>}</p>
      {!other && by !== 'purge' && by !== 'suspended' && (
        <div class="actions">
          {by === 'pause' && <Resume name={name} paused done={reload} />}
          {(by === 'rate' || by === 'concurrency') && <EditSettings name={name} done={reload} />}
          {by !== 'pause' && <Pause name={name} paused={false} done={reload} />}
        </div>
      )}
    </div>
  )
}
