import type { Backlog } from '../../api/queues'
import type { Cluster, EndedAttempt, Live, Problem, Queue, Schedule, Task } from '../../api/openapi.gen'
import { taskDestination } from '../../format/destination'
import { plural } from '../../format/number'
import { full, millis, span } from '../../format/time'
import { nextTest, wait } from '../../parts/limit-reason'
import { errorText } from '../../parts/reply'
import { link } from '../../state/route'
import { ended } from './end-reason'
import { deferred, waited } from './read'

// Context is the state of the server around a task. A part is null
// until it has arrived, or if the token may not read it.
export interface Context {
  now: number
  queue: Queue | null
  backlog: Backlog | null // of the queue
  failures: EndedAttempt[] // the last ones of the queue
  live: Live | null
  namespace: string
  schedule: Schedule | null
  cluster: Cluster | null
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
  return held(t, c) ?? early(t, c) ?? server(t, c) ?? runner(t) ?? breaker(t, c) ?? limited(t, c) ?? nodeNotReady(t, c) ?? due(t, c)
}

const queues = (t: Task) => ({ text: 'Open the queue', href: link('queues', t.queue) })
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

function held(t: Task, c: Context): Why | null {
  const when = isDue(t, c.now) ? 'It is due, but' : `It is due ${in_(t.next_at!, c.now)}, and`
  switch (t.held_by) {
    case 'suspended':
      return { tone: 'warn', text: `${when} the namespace ${c.namespace} is suspended: none of its tasks is sent.`, remedy: 'An operator must resume the namespace. The task waits and uses no attempt.', to: { text: 'Open the namespaces', href: link('server', '', { tab: 'namespaces' }) } }
    case 'purge':
      return { tone: 'warn', text: `The queue ${t.queue} is being purged: the server will cancel this task.`, remedy: 'To send it anyway, create it again.', to: queues(t) }
    case 'pause': {
      const until = c.queue?.paused_until ? `until ${full(c.queue.paused_until)}` : 'until it is resumed'
      return { tone: 'warn', text: `${when} its queue ${t.queue} is paused ${until}.`, remedy: 'Resume the queue, or use Run now to send only this task.', to: queues(t) }
    }
  }
  return null
}

// early explains a task with a next attempt that is not due yet.
function early(t: Task, { now }: Context): Why | null {
  if (isDue(t, now)) return null
  if (!waited(t)) return { tone: 'info', text: `It is due ${in_(t.next_at!, now)}, at ${full(t.next_at!)}.` }
  const last = t.attempts.at(-1)!
  return {
    tone: 'warn', text: `Attempt ${last.number} ${deferred(last) ? 'does not count: ' : 'failed: '}${errorText(last)}. The next attempt starts ${in_(t.next_at!, now)}.`,
    remedy: 'Correct the receiver or the request. Use Run now to skip the wait.',
  }
}

function server(_: Task, c: Context): Why | null {
  if (!c.unready) return null
  return { tone: 'bad', text: `It is due, but this server is not ready: ${c.unready.detail}`, remedy: 'Tasks start when the server is ready again.', to: { text: 'Open Server', href: link('server') } }
}

function runner(t: Task): Why | null {
  if (t.limited_by !== 'runner') return null
  const text = t.work ? `has no handler for the kind ${t.work.kind}` : 'does not send requests'
  return { tone: 'bad', text: `It is due, but this server ${text}: runner.`, remedy: 'Start a process with a handler for the kind, or cancel the task. In a cluster, another server may own the task and run it.' }
}

function breaker(t: Task, c: Context): Why | null {
  const name = taskDestination(t)
  const d = c.live?.destinations.find((d) => d.destination === name && d.namespace === c.namespace)
  if (!d || d.breaker === 'closed') return null
  const to = { text: 'Open the destination', href: link('destinations', name) }
  const remedy = 'Correct the receiver. The task waits and uses no attempt.'
  const last = c.failures.find((a) => a.destination === name) ?? t.attempts.at(-1)
  const error = last ? ` Its last error: ${errorText(last)}.` : ''
  return { tone: 'bad', text: `It is due, but the destination ${name} failed repeatedly, so its breaker is ${d.breaker}.${error} ${nextTest(d.open_until, c.now)}`, remedy, to }
}

function limited(t: Task, c: Context): Why | null {
  const q = c.live?.queues.find((q) => q.queue === t.queue && q.namespace === c.namespace)
  const n = Math.max(q?.overdue ?? 0, c.backlog?.overdue ?? 0)
  const others = n > 1 ? ` ${plural(n, 'task')} of the queue wait.` : ''
  switch (q?.limited_by) {
    case 'rate':
      return { tone: 'warn', text: `It is due, but its queue ${t.queue} starts at most ${rate(c.queue?.rate)}.${others}${c.queue?.rate && n > 1 ? ` At this rate, all start within about ${span(wait(n, c.queue.rate))}.` : ''}`, remedy: 'Raise the rate of the queue, or wait.', to: queues(t) }
    case 'concurrency':
      return { tone: 'warn', text: `It is due, but its queue ${t.queue} has ${plural(q.running, 'running attempt')}, and its concurrency is ${c.queue?.concurrency ?? q.running}.${others}`, remedy: 'Raise the concurrency of the queue, or check why attempts take long.', to: queues(t) }
    case 'slots':
      return { tone: 'bad', text: `It is due, but all ${c.live?.slots ?? ''} slots of the server are in use.${others}`, remedy: 'Check for receivers that reply slowly, or start the server with a larger --concurrency.', to: { text: 'Open Now', href: link('now') } }
    case 'destination':
      return byDestination(t, c, others)
  }
  return null
}

function byDestination(t: Task, c: Context, others: string): Why {
  const name = taskDestination(t)
  const running = c.live?.destinations.find((d) => d.destination === name && d.namespace === c.namespace)?.running ?? 0
  const most = c.queue?.per_destination
  if (most && running >= most) return { tone: 'warn', text: `It is due, but ${name} has ${plural(running, 'running attempt')}, and the queue ${t.queue} allows ${most} to one destination.${others}`, remedy: 'Raise the limit per destination of the queue, or wait.', to: queues(t) }
  return { tone: 'warn', text: `It is due, but ${name} asked for a delay (Retry-After).${others}`, remedy: 'The task starts when that time is over. It uses no attempt while it waits.', to: { text: 'Open the destination', href: link('destinations', name) } }
}

function rate(perSecond: number | undefined): string {
  if (!perSecond) return 'a limited number of attempts a second'
  return perSecond >= 1 ? `${plural(perSecond, 'attempt')} a second` : `one attempt in ${span(1000 / perSecond)}`
}

// nodeNotReady explains a task that waits for a node that is not ready, or for a shard
// without an owner.
function nodeNotReady(_: Task, c: Context): Why | null {
  const unready = c.cluster?.nodes.filter((n) => !n.ready && !n.draining) ?? []
  const unowned = (c.cluster?.shards ?? 0) - (c.cluster?.nodes.reduce((sum, n) => sum + (n.owned ?? 0), 0) ?? 0)
  if (unready.length === 0 && unowned <= 0) return null
  const one = unready.length === 1
  const text = unready.length === 0
    ? `It is due, but ${plural(unowned, 'shard')} ${unowned === 1 ? 'has' : 'have'} no owner. If the task is in one of them, a node takes it within seconds.`
    : `It is due, but the ${one ? 'node' : 'nodes'} ${unready.map((n) => n.name).join(', ')} ${one ? 'is' : 'are'} not ready. If ${one ? 'that node' : 'one of them'} owns the task's shard, another node takes over within seconds.`
  return { tone: 'bad', text, remedy: 'If it takes longer, check the nodes.', to: { text: 'Open the nodes', href: link('server', '', { tab: 'nodes' }) } }
}

function due(t: Task, c: Context): Why {
  const late = c.now - Date.parse(t.next_at ?? t.due_at)
  if (late < 3000) return { tone: 'info', text: 'It is due now. Its attempt starts at once.' }
  return {
    tone: 'warn', text: `It has been due for ${span(late)}. The page finds no limit that delays it.`,
    remedy: t.priority === 'low' ? 'Tasks of higher priority in its queue start first.' : 'Earlier tasks of its queue start first. If no task starts, run foliot doctor.', to: queues(t),
  }
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
