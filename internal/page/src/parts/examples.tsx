import type { Task } from '../api/openapi.gen'
import { link } from '../state/route'
import { State } from './badge'
import { Time } from './time'

// Examples lists some of the tasks that an action would change.
export function Examples({ of, total }: { of: Task[]; total: number }) {
  return (
    <details open={of.length <= 5}>
      <summary>{of.length < total ? `The first ${of.length} of them` : 'All of them'}</summary>
      <table>
        <caption class="sr">Tasks that match</caption>
        <tbody>{of.map((t) => <tr key={t.id}><td><a href={link('task', t.name)}>{t.name}</a></td><td><State of={t.state} reason={t.reason} /></td><td><Time at={t.finished_at ?? t.next_at ?? t.due_at} /></td></tr>)}</tbody>
      </table>
    </details>
  )
}
