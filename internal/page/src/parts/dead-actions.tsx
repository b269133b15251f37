import type { Task } from '../api/openapi.gen'
import { plural } from '../format/number'
import type { Filter } from '../state/filter'
import { Bulk } from './bulk'
import { Each, type Found } from './each'
import { collect, deepest, filterFor, inGroup, type Collected, type Group } from './collect'

// GroupActions retries or cancels the tasks of a group. If a filter of the API selects
// exactly these tasks, the server changes them; otherwise the page does, one by one.
export function GroupActions({ of: g, all, within, done }: { of: Group; all: Collected; within: Filter; done: () => void }) {
  const filter = filterFor(g, all, within)
  if (filter) {
    return (
      <>
        <Bulk verb="retry" filter={filter} label="Retry" done={done} />
        <Bulk verb="cancel" filter={filter} label="Cancel" done={done} />
      </>
    )
  }
  const find = (signal: AbortSignal) => findDead({ ...within, reason: g.reason }, inGroup(g), signal)
  return (
    <>
      <Each verb="retry" label="Retry" title={`Retry dead tasks of ${g.destination}`} find={find} done={done} />
      <Each verb="cancel" label="Cancel" title={`Cancel dead tasks of ${g.destination}`} find={find} done={done} />
    </>
  )
}

// findDead returns the dead tasks for which keep returns true, from all that the page examines.
export async function findDead(filter: Filter, keep: (t: Task) => boolean, signal: AbortSignal): Promise<Found> {
  const found = await collect(filter, deepest, signal, keep)
  if (found.complete) return { tasks: found.tasks }
  return { tasks: found.tasks, note: `The page examined ${plural(found.examined, 'dead task')}. There are more: repeat this action afterwards.` }
}
