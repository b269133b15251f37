import type { Task } from '../api/openapi.gen'
import { plural } from '../format/number'
import type { Filter } from '../state/filter'
import { ChangeOneByOne, type Found } from './change-one-by-one'
import { collect, deepest, inGroup, type Collected, type Group } from './dead-tasks'

// GroupActions retries or cancels the tasks of a group, one by one: the API has no filter
// by destination, and with another one a task that died since could match too. If all
// dead tasks are shown, it changes exactly those that are.
export function GroupActions({ of: g, all, within, done }: { of: Group; all: Collected; within: Filter; done: () => void }) {
  const find = async (signal: AbortSignal) => all.complete ? { tasks: g.tasks } : findDead({ ...within, reason: g.reason }, inGroup(g), signal)
  return (
    <>
      <ChangeOneByOne verb="retry" label="Retry" title={`Retry dead tasks of ${g.destination}`} find={find} done={done} />
      <ChangeOneByOne verb="cancelDead" label="Cancel" title={`Cancel dead tasks of ${g.destination}`} find={find} done={done} />
    </>
  )
}

// findDead returns the dead tasks for which keep returns true, from all that the page
// examines.
export async function findDead(filter: Filter, keep: (t: Task) => boolean, signal: AbortSignal): Promise<Found> {
  const found = await collect(filter, deepest, signal, keep)
  if (found.complete) return { tasks: found.tasks }
  return { tasks: found.tasks, note: `The page examined ${plural(found.examined, 'dead task')}. There are more: repeat this action afterwards.` }
}
