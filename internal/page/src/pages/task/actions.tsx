import { useSignal } from '@preact/signals'
import { guarded } from '../../api/call'
import { cancelTask, getTask, patchTask, retryTask, runTask, touchTask, type Queue, type Task } from '../../api/openapi.gen'
import { foliot } from '../../format/command'
import { full, millis, span, wrongDuration } from '../../format/time'
import { Action, runNow } from '../../parts/action'
import { Field } from '../../parts/field'
import { TimeField } from '../../parts/time-field'
import { problemOf } from '../../state/data'
import { notSaved } from '../../state/refusal'
import { serverNow } from '../../state/session'
import { endedExceptDead, waiting } from './read'

interface Props {
  task: Task
  queue: Queue | null
  done: () => void
}

export const etag = (t: Pick<Task, 'id' | 'version'>): string => `"${t.id}.${t.version}"`

// changeSeenVersion makes a change of the task that the user sees, and of no new one
// with its name. Attempts do not change the version. A touch does, so the page repeats
// the change if the task still has its id and its request.
async function changeSeenVersion<T>({ name, ...t }: Task, change: (params: { name: string; ifMatch: string }) => Promise<T>): Promise<T> {
  try {
    return await change({ name, ifMatch: etag(t) })
  } catch (err) {
    if (problemOf(err).status !== 412) throw err
    const now = await getTask({ name })
    if (now.id === t.id && JSON.stringify([now.http, now.work]) === JSON.stringify([t.http, t.work])) t = now
    return guarded(change({ name, ifMatch: etag(t) }), replaced)
  }
}

export const replaced = 'Another user has changed or replaced the task. Close this dialog and look at it again.'

// notWaiting returns why an action needs a task that waits, or ''.
function notWaiting(t: Task): string {
  if (waiting(t)) return ''
  if (t.state === 'running') return 'An attempt is running.'
  if (t.state === 'dead') return 'The task is dead: use Retry.'
  return `The task is ${t.state}: it will not be sent.`
}

export function Actions({ task: t, queue, done }: Props) {
  return (
    <>
      <Action label="Run now" call={runTask} off={notWaiting(t)} command={foliot('move', t.name, '--now')} done={done}
        run={async () => (await changeSeenVersion(t, runTask), 'The task is due now.')}>
        <p>{runNow('The task')}</p>
      </Action>
      <Retry task={t} queue={queue} done={done} />
      <Move task={t} done={done} />
      <Action label="Touch" call={touchTask} off={notWaiting(t) || (t.delay ? '' : 'The task has a due time and no delay. Use Move.')} command={foliot('touch', t.name)} done={done}
        run={async () => `Due ${full((await changeSeenVersion(t, touchTask)).due_at)}.`}>
        <p>Its delay of {span(millis(t.delay ?? '0s'))} starts again now, and its attempts are counted from 0 again. As long as each touch comes before the delay has passed, the task is not sent.</p>
      </Action>
      <Cancel task={t} queue={queue} done={done} />
    </>
  )
}

function Retry({ task: t, queue, done }: Props) {
  const off = t.state === 'dead' ? ''
    : !endedExceptDead(t) ? `The task has not ended: it is ${t.state}. Use Run now to send it at once.`
      : queue && !queue.keep_bodies ? `The task is ${t.state}, and its queue ${t.queue} keeps no bodies (keep_bodies). Create it again with Copy as.` : ''
  return (
    <Action label="Retry" call={retryTask} off={off} command={foliot('retry', t.name)} done={done}
      run={async () => (await changeSeenVersion(t, retryTask), 'The task is due now. Its attempts are counted from 0 again.')}>
      <p>The task is due now. Its attempts are counted from 0 again. Its id stays the same, so a receiver that stores the <code>webhook-id</code> recognises it.</p>
      {endedExceptDead(t) && <p>The task was {t.state}. The server refuses this if the queue kept no bodies when the task ended.</p>}
    </Action>
  )
}

function Cancel({ task: t, queue, done }: Props) {
  const off = endedExceptDead(t) ? (t.state === 'cancelled' ? 'The task is cancelled already.' : `The task is ${t.state} already.`) : t.cancel_requested ? 'The task is cancelled already. One attempt is running.' : ''
  const run = async () => {
    const reply = await changeSeenVersion(t, cancelTask)
    return reply.under_way ? 'Cancelled. One attempt is running: it is the last one.' : 'Cancelled. No attempt starts any more.'
  }
  return (
    <Action label="Cancel" danger call={cancelTask} off={off} command={foliot('cancel', t.name)} run={run} done={done} title="Cancel the task">
      {t.state === 'running'
        ? <p>An attempt is running. It is the last one. The task ends delivered or cancelled (status 202).</p>
        : <p>No attempt starts any more (status 200). If an attempt starts before this request arrives, that attempt is the last one (status 202).</p>}
      {queue && <p>{queue.keep_bodies
        ? <>The queue {t.queue} keeps bodies: you can retry the task until its record is removed.</>
        : <>The queue {t.queue} does not keep bodies: a cancelled task loses its body, and cannot be retried.</>}</p>}
      {t.schedule && <p>Its schedule continues with the next instant.</p>}
    </Action>
  )
}

const ways = [['by', 'By a time'], ['delay', 'After a delay from now'], ['at', 'At a time']] as const

function Move({ task: t, done }: Pick<Props, 'task' | 'done'>) {
  const way = useSignal<string>('by')
  const by = useSignal('1h')
  const delay = useSignal('30m')
  const at = useSignal('')
  const off = waiting(t) || t.state === 'dead' ? '' : notWaiting(t)
  const wrong = way.value === 'by' ? wrongDuration(by.value.trim().replace(/^-/, '')) : way.value === 'delay' ? wrongDuration(delay.value) : undefined
  const target = wrong || way.value === 'delay' ? undefined : way.value === 'by' ? shifted(t, by.value.trim()) : at.value || undefined
  const change = wrong ? null : way.value === 'delay' ? { delay: delay.value.trim() } : target ? { at: target } : null
  const run = async () => {
    if (!change) throw notSaved
    const reply = await guarded(patchTask({ name: t.name, ifMatch: etag(t) }, change), replaced)
    return `Due ${full(reply.due_at)}.${t.state === 'dead' ? ' It stays dead until it is retried.' : ''}`
  }
  return (
    <Action label="Move" call={patchTask} off={off} command={change ? foliot('move', t.name, ...(change.delay ? ['--in', change.delay] : ['--at', change.at!])) : ''} run={run} done={done} title="Move the due time">
      <fieldset class="choice"><legend>How</legend>
        {ways.map(([key, text]) => <label key={key}><input type="radio" name="way" checked={way.value === key} onChange={() => (way.value = key)} /> {text}</label>)}
      </fieldset>
      {way.value === 'by' && <Field label="Move by" value={by} error={wrong} hint="1h is one hour later than the present due time, -10m ten minutes earlier." required />}
      {way.value === 'delay' && <Field label="Delay" value={delay} error={wrong} hint="Counted from now, such as 30m. A touch starts this delay again." required />}
      {way.value === 'at' && <TimeField label="Due at" value={at} required />}
      <p>{target ? <>Due at <b>{full(target)}</b> instead of {full(t.due_at)}.</> : <>It is due at {full(t.due_at)}.</>} {way.value !== 'delay' && t.delay && 'The task loses its delay, so it cannot be touched any more.'}</p>
      {target && Date.parse(target) <= serverNow() && <p class="dim">This time has passed, so the task is due at once.</p>}
    </Action>
  )
}

// shifted returns nothing for a duration that leads to no date.
function shifted(t: Task, by: string): string | undefined {
  const at = new Date(Date.parse(t.due_at) + millis(by))
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}
