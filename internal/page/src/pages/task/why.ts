import type { Problem, Schedule, Task } from '../../api/openapi.gen'
import { taskDestination } from '../../format/destination'
import { plural } from '../../format/number'
import { full, millis, span } from '../../format/time'
import { errorText } from '../../parts/reply'
import { link } from '../../state/route'
import { ended } from './end-reason'
import { snoozed, waited } from './read'

// Context is the state of the server around a task. A part is null
// until it has arrived, or if the token may not read it.
export interface Context {
  now: number
  schedule: Schedule | null
  unready: Problem | null
}

// Why is the reason of the present state of a task, with the remedy.
export interface Why {
  tone: 'info' | 'warn' | 'bad' | 'good'
  text: string
  remedy?: string
  to?: { text: string; href: string }
}

// why returns one sentence that explains why a task has not been sent, or how it ended.
export function why(t: Task, c: Context): Why {
  if (t.state === 'running') return running(t, c)
  if (t.state !== 'scheduled' && t.state !== 'held') return ended(t)
  return (t.state === 'held' ? waits(t, c) : null) ?? early(t, c) ?? server(t, c) ?? waits(t, c) ?? { tone: 'info', text: 'It is due now. Its attempt starts at once.' }
}

const in_ = (at: string, now: number) => `in ${span(Date.parse(at) - now)}`
const isDue = (t: Task, now: number) => !t.next_at || Date.parse(t.next_at) <= now

function running(t: Task, { now }: Context): Why {
  const last = t.attempts.at(-1)
  const earliest = Math.max(Date.parse(t.due_at), last ? Date.parse(last.started_at) + last.latency_ms : 0)
  const limit = span(millis(t.timeout))
  const long = Math.min(now - earliest, millis(t.timeout)) // no attempt is older than its timeout
  if (t.cancel_requested) return { tone: 'warn', text: 'The task is cancelled, but one attempt is running. It is the last one.', remedy: `It ends within its timeout of ${limit}. Then the task is delivered or cancelled.` }
  if (long < 5000) return { tone: 'info', text: 'An attempt is running.' }
  return {
    tone: 'warn',
    text: `An attempt is running, and ${taskDestination(t)} has not replied. It began at most ${span(long)} ago.`,
    remedy: `The attempt fails after its timeout of ${limit}, and the task is tried again. If this repeats, check the receiver.`,
    to: { text: 'Open its destination', href: link('destinations', taskDestination(t)) },
  }
}

// waits explains a task that is due or held, with the reason that the server gives.
function waits(t: Task, { now }: Context): Why | null {
  const w = t.waits_for
  if (!w) return null
  const late = now - Date.parse(t.next_at ?? t.due_at)
  if (w.reason === 'turn' && late < 3000) return null
  const when = isDue(t, now) ? 'It is due, but' : `It is due ${in_(t.next_at!, now)}, and`
  const until = w.until ? ` ${w.reason === 'breaker' ? 'The next test is' : 'This ends'} ${in_(w.until, now)}, at ${full(w.until)}.` : ''
  return {
    tone: ['breaker', 'runner', 'slots', 'node'].includes(w.reason) ? 'bad' : 'warn', text: `${when} ${w.detail}.${until}`,
    remedy: late > 3000 ? `It has waited for ${span(late)}, and uses no attempt meanwhile.` : undefined, to: places[w.reason]?.(t) ?? queues(t),
  }
}

const queues = (t: Task) => ({ text: 'Open the queue', href: link('queues', t.queue) })
const destinations = (t: Task) => ({ text: 'Open the destination', href: link('destinations', taskDestination(t)) })

// places has the pages about the reasons that are not about the queue.
const places: Partial<Record<NonNullable<Task['waits_for']>['reason'], (t: Task) => Why['to']>> = {
  suspended: () => ({ text: 'Open the namespaces', href: link('server', '', { tab: 'namespaces' }) }),
  runner: destinations, breaker: destinations, retry_after: destinations, unsent: destinations, kind: destinations,
  slots: () => ({ text: 'Open Now', href: link('now') }),
  node: () => ({ text: 'Open the nodes', href: link('server', '', { tab: 'nodes' }) }),
}

// early explains a task with a next attempt that is not due yet.
function early(t: Task, { now }: Context): Why | null {
  if (isDue(t, now)) return null
  if (!waited(t)) return { tone: 'info', text: `It is due ${in_(t.next_at!, now)}, at ${full(t.next_at!)}.` }
  const last = t.attempts.at(-1)!
  return {
    tone: 'warn', text: `Attempt ${last.number} ${snoozed(last) ? 'does not count: ' : 'failed: '}${errorText(last)}. The next attempt starts ${in_(t.next_at!, now)}.`,
    remedy: 'Correct the receiver or the request. Use Run now to skip the wait.',
  }
}

function server(_: Task, c: Context): Why | null {
  if (!c.unready) return null
  return { tone: 'bad', text: `It is due, but this server is not ready: ${c.unready.detail}`, remedy: 'Tasks start when the server is ready again.', to: { text: 'Open Server', href: link('server') } }
}

// notes returns further facts for the reader.
export function notes(t: Task, c: Context): string[] {
  const out: string[] = []
  const unfinished = !t.finished_at
  if (unfinished && t.expire_after && !['0s', ''].includes(t.expire_after) && t.attempts.length === 0 && t.state !== 'running') {
    out.push(`If no attempt starts by ${full(Date.parse(t.due_at) + millis(t.expire_after))}, the task expires.`)
  }
  if (t.reclaims) out.push(`${plural(t.reclaims, 'attempt')} ended without a result because the server stopped. After ten in a row the task is dead.`)
  if (unfinished && c.schedule && c.schedule.overlap !== 'allow') {
    out.push(c.schedule.waiting_at
      ? `The instant ${full(c.schedule.waiting_at, c.schedule.timezone)} of its schedule waits for the end of the unfinished task (overlap: buffer_one).`
      : `While a task of its schedule is unfinished, ${c.schedule.overlap === 'skip' ? 'instants are skipped (overlap: skip)' : 'the next instant waits (overlap: buffer_one)'}.`)
  }
  return out
}
