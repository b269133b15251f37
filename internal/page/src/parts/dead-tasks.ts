import { listTasks, type Task } from '../api/openapi.gen'
import { taskDestination } from '../format/destination'
import { grouped } from '../format/group'
import { query, type Filter } from '../state/filter'

// most is the number of dead tasks that a list examines, and deepest the number that
// an action examines, which the user waits for.
export const most = 1000
export const deepest = 20000

// A page of the API may be short or empty and still not be the last.
const pages = 60

export interface Collected {
  tasks: Task[] // the latest end first
  examined: number
  complete: boolean // false: there are more dead tasks than were examined
}

// latest returns the tasks that died last.
export async function latest(filter: Filter, signal: AbortSignal): Promise<Collected> {
  const list = await listTasks({ ...query(filter), ...query({ state: ['dead'] }), order: 'ended', limit: most }, undefined, signal)
  return { tasks: list.tasks, examined: list.tasks.length, complete: !list.next_cursor }
}

// collect lists dead tasks, the latest end first, and returns those for which keep
// returns true. The API has no filter by destination.
export async function collect(filter: Filter, bound: number, signal: AbortSignal, keep: (t: Task) => boolean = () => true): Promise<Collected> {
  const tasks: Task[] = []
  let cursor: string | undefined
  let examined = 0
  let complete = false
  for (let page = 0; page < pages && examined < bound && !complete; page++) {
    const list = await listTasks({ ...query(filter), ...query({ state: ['dead'] }), order: 'ended', limit: Math.min(1000, bound - examined), cursor }, undefined, signal)
    examined += list.tasks.length
    for (const t of list.tasks) if (keep(t)) tasks.push(t)
    cursor = list.next_cursor
    complete = !cursor
  }
  return { tasks, examined, complete }
}

// Group is the dead tasks with one reason and one destination.
export interface Group {
  key: string
  reason: string
  destination: string
  tasks: Task[] // the latest end first
  queues: string[]
}

// groupsOf returns the groups of dead tasks, the largest first.
export function groupsOf(tasks: Task[]): Group[] {
  const groups = grouped(tasks, (t) => `${t.reason ?? ''} ${taskDestination(t)}`)
  return [...groups].map(([key, of]): Group => ({
    key, reason: of[0]!.reason ?? '', destination: taskDestination(of[0]!), tasks: of, queues: [...new Set(of.map((t) => t.queue))].sort(),
  })).sort((a, b) => b.tasks.length - a.tasks.length)
}

// inGroup reports whether a task belongs to a group.
export function inGroup(g: Pick<Group, 'reason' | 'destination'>): (t: Task) => boolean {
  return (t) => (t.reason ?? '') === g.reason && taskDestination(t) === g.destination
}
