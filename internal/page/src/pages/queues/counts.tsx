import type { Counts } from '../../api/openapi.gen'
import { count, short } from '../../format/number'
import { link } from '../../state/route'

export const countedStates = ['scheduled', 'running', 'dead', 'delivered', 'cancelled', 'expired'] as const

// CountLink is a number of tasks in one state, as a link to these tasks.
export function CountLink({ queue, state, of }: { queue: string; state: (typeof countedStates)[number]; of: Counts }) {
  const n = of[state]
  if (n === 0) return <span class="dim none">0</span>
  const href = state === 'dead' ? link('dead', '', { queue }) : link('tasks', '', { queue, state })
  return <a href={href} class={state === 'dead' ? 'bad' : ''} title={`${count(n)} ${state}`} aria-label={`${count(n)} ${state} in ${queue}`}>{short(n)}</a>
}
