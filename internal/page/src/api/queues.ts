import { destinationOf } from '../format/destination'
import { count } from '../format/number'
import { ifOperator } from '../state/session'
import { request } from './call'
import { listQueues, type Due, type Queue, type Upcoming } from './openapi.gen'
import { readPages } from './pages'

// Tagged is a queue with the tag of its version. A change sends the tag as If-Match,
// so that it does not overwrite a change that the user has not seen.
export interface Tagged {
  queue: Queue
  tag: string
}

// readQueue reads one queue with its tag.
export async function readQueue(name: string, signal?: AbortSignal): Promise<Tagged> {
  const reply = await request('GET', 'v1/queues/' + encodeURIComponent(name), {}, undefined, signal)
  return { tag: reply.headers.get('ETag') ?? '', queue: (await reply.json()) as Queue }
}

// A namespace has at most 10,000 queues with settings, but any number with tasks.
const most = 10_000

// allQueues lists the queues of the namespace: complete is false if there are more
// than the page reads.
export async function allQueues(signal: AbortSignal): Promise<{ queues: Queue[]; complete: boolean }> {
  const { items, next } = await readPages('queues', most, undefined, (page) => listQueues(page, undefined, signal))
  return { queues: items, complete: !next }
}

// deadOf returns the number of dead tasks in a list of queues as text.
export function deadOf({ queues, complete }: { queues: Queue[]; complete: boolean }): string {
  return (complete ? '' : 'at least ') + count(queues.reduce((n, q) => n + q.counts.dead, 0))
}

// purgeable is the number of tasks that a purge cancels.
export function purgeable(q: Queue): number {
  return q.counts.scheduled + q.counts.running + q.counts.dead
}

// Backlog is the overdue tasks of a queue.
export interface Backlog {
  overdue: number
  oldest?: string // the time at which the oldest one became due
  destinations: string[] // those of the oldest tasks
}

// readBacklog counts the overdue tasks of a queue. The live data counts none of a held
// queue, and fewer than there are of a limited one.
export async function readBacklog(queue: string, space: string, signal?: AbortSignal): Promise<Backlog> {
  const read = async <T>(path: string) => (await request('GET', `v1/${path}&queue=${encodeURIComponent(queue)}`, {}, undefined, signal, ifOperator(space))).json() as Promise<T>
  const [due, next] = await Promise.all([read<Due>('due?rings=1'), read<Upcoming>('upcoming?until=1ms&limit=50')])
  const tasks = next.items.filter((u) => !u.instant && u.due <= next.time)
  return { overdue: due.overdue, oldest: tasks[0]?.due, destinations: [...new Set(tasks.map((u) => destinationOf(u.url, u.kind)))] }
}
