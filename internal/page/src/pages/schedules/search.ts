import { listSchedules, type Schedule, type ScheduleList } from '../../api/openapi.gen'

// Search is a filter of the list of schedules. The server filters by labels. It has
// no filter for names and states, so the page reads the list and filters it.
export interface Search {
  label: string[]
  name: string
  state: string
}

export interface FoundSchedules extends ScheduleList {
  read: number // how many schedules were read
}

export const pageSize = 25
const maxPages = 10

export async function findSchedules(search: Search, cursor: string | undefined, signal: AbortSignal): Promise<FoundSchedules> {
  if (!search.name && !search.state) {
    const list = await listSchedules({ label: search.label, limit: pageSize, cursor }, undefined, signal)
    return { ...list, read: list.schedules.length }
  }
  const schedules: Schedule[] = []
  let read = 0
  for (let page = 0; page < maxPages && schedules.length < pageSize; page++) {
    const list = await listSchedules({ label: search.label, limit: 1000, cursor }, undefined, signal)
    read += list.schedules.length
    schedules.push(...list.schedules.filter((s) => matches(s, search)))
    cursor = list.next_cursor
    if (!cursor) break
  }
  return { schedules, read, next_cursor: cursor }
}

function matches(s: Schedule, { name, state }: Search): boolean {
  if (name && !s.name.toLowerCase().includes(name.toLowerCase())) return false
  return !state || (state === 'stuck' ? s.problem !== undefined : s.state === state)
}
