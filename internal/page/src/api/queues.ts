import { request } from './call'
import { listQueues, type Queue } from './openapi.gen'

// Tagged is a queue with the tag of its version. A change sends the tag as If-Match,
// so that it does not overwrite a change that the visitor has not seen.
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
const pages = 10

// allQueues lists the queues of the namespace: complete is false if there are more
// than the page reads.
export async function allQueues(signal: AbortSignal): Promise<{ queues: Queue[]; complete: boolean }> {
  const queues: Queue[] = []
  let cursor: string | undefined
  for (let page = 0; page < pages; page++) {
    const list = await listQueues({ limit: 1000, cursor }, undefined, signal)
    queues.push(...list.queues)
    cursor = list.next_cursor
    if (!cursor) return { queues, complete: true }
  }
  return { queues, complete: false }
}

// unfinished is the number of tasks that a purge cancels.
export function unfinished(q: Queue): number {
  return q.counts.scheduled + q.counts.running + q.counts.dead
}
