import { listTasks, type Task } from '../api/openapi.gen'
import { taskDestination } from '../format/destination'
import { query, type Filter } from '../state/filter'

// most is the number of dead tasks that a list examines.
export const most = 1000

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
  const groups = Map.groupBy(tasks, (t) => `${t.reason ?? ''} ${taskDestination(t)}`)
  return [...groups].map(([key, of]): Group => ({
    key, reason: of[0]!.reason ?? '', destination: taskDestination(of[0]!), tasks: of, queues: [...new Set(of.map((t) => t.queue))].sort(),
  })).sort((a, b) => b.tasks.length - a.tasks.length)
}
