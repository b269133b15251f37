import { countDue, listQueues, pauseQueue, resumeQueue, type Live, type LiveQueue, type Queue } from '../../api/openapi.gen'
import { foliot } from '../../format/command'
import { plural } from '../../format/number'
import { span } from '../../format/time'
import { Action } from '../../parts/action'
import { Note } from '../../parts/notice'
import { Panel } from '../../parts/panel'
import { Time } from '../../parts/time'
import { useData } from '../../state/data'
import { elsewhere } from '../../state/here'
import { link } from '../../state/route'

const limits: Record<string, (queue: string) => string> = {
  suspended: () => 'the namespace is suspended',
  pause: (q) => `queue ${q} is paused`,
  purge: (q) => `queue ${q} is being purged`,
  rate: (q) => `the rate of queue ${q} is used up`,
  concurrency: (q) => `queue ${q} is at its concurrency limit`,
  destination: () => 'their destination has failed repeatedly, has asked for a delay, or is at its limit',
  slots: () => 'all slots of the server are in use',
}

// limit returns the reason why tasks of a queue wait, or '' if there is none.
export function limit(by: string | undefined, queue: string): string {
  return by ? limits[by]?.(queue) ?? by : ''
}

const shown = 20

// Overdue lists the queues with tasks that should have been sent, and the reasons.
export function Overdue({ live }: { live: Live | null }) {
  const paused = useData(pausedQueues, [], 10000)
  const held = (paused.value ?? []).filter((p) => p.overdue > 0)
  const names = new Set(held.map((p) => p.queue.name))
  const rows = (live?.queues ?? []).filter((q) => q.overdue > 0 && (elsewhere(q.namespace) || !names.has(q.queue)))
  return (
    <Panel title="Overdue, and why">
      {rows.length + held.length === 0 && <Note tone="good">No task is overdue.</Note>}
      {held.map((p) => <Held key={p.queue.name} {...p} done={paused.reload} />)}
      {rows.slice(0, shown).map((q) => <Waiting key={q.namespace + '/' + q.queue} of={q} at={live!.at} done={paused.reload} />)}
      {rows.length > shown && <p class="dim">{plural(rows.length - shown, 'more queue')}: see <a href="#/queues">Queues</a>.</p>}
    </Panel>
  )
}

interface HeldQueue {
  queue: Queue
  overdue: number
}

// pausedQueues returns the paused queues with the number of their overdue tasks. The
// live data does not have them, because servers do not read the tasks of a queue
// that is paused.
async function pausedQueues(signal: AbortSignal): Promise<HeldQueue[]> {
  const list = await listQueues({ limit: 200 }, undefined, signal)
  const paused = list.queues.filter((q) => (q.paused || q.purging) && q.counts.scheduled > 0).slice(0, 10)
  return Promise.all(paused.map(async (queue) => ({ queue, overdue: (await countDue({ rings: 1, queue: queue.name }, undefined, signal)).overdue })))
}

function Held({ queue, overdue, done }: HeldQueue & { done: () => void }) {
  return (
    <div>
      <h3><a href={link('tasks', '', { queue: queue.name, state: 'held' })}>{plural(overdue, 'task')}</a> in <a href={link('queues', queue.name)}>{queue.name}</a></h3>
      <p>They wait because queue {queue.name} is {queue.purging ? 'being purged' : 'paused'}{queue.paused_until ? <>. It resumes by itself <Time at={queue.paused_until} mode="relative" /></> : null}.</p>
      {!queue.purging && <div class="actions"><Resume name={queue.name} done={done} /></div>}
    </div>
  )
}

function Waiting({ of: q, at, done }: { of: LiveQueue; at: string; done: () => void }) {
  const reason = limit(q.limited_by, q.queue)
  return (
    <div>
      <h3><a href={link('tasks', '', { queue: q.queue, state: 'scheduled', due_before: at, namespace: elsewhere(q.namespace) })}>{plural(q.overdue, 'task')}</a> in <a href={link('queues', q.queue, { namespace: elsewhere(q.namespace) })}>{elsewhere(q.namespace) && q.namespace + ' / '}{q.queue}</a></h3>
      <p>{reason ? `They wait because ${reason}.` : 'No limit holds them. They start in order.'} {q.oldest_ms !== undefined && <span class="dim">The oldest is {span(q.oldest_ms)} late.</span>}</p>
      {!elsewhere(q.namespace) && <div class="actions">
        {q.limited_by === 'pause' ? <Resume name={q.queue} done={done} /> : (
          <Action label="Pause" call={pauseQueue} command={foliot('queue', 'pause', q.queue)} run={async () => (await pauseQueue({ queue: q.queue }, {}), `Queue ${q.queue} is paused`)} done={done}>
            <p>Only tasks that are run by hand start, until the queue is resumed. The other tasks wait.</p>
          </Action>
        )}
      </div>}
    </div>
  )
}

function Resume({ name, done }: { name: string; done: () => void }) {
  return (
    <Action label="Resume" call={resumeQueue} command={foliot('queue', 'resume', name)} run={async () => (await resumeQueue({ queue: name }), `Queue ${name} is resumed`)} done={done}>
      <p>The overdue tasks of queue {name} start now, as its limits allow.</p>
    </Action>
  )
}
