import { useSignal } from '@preact/signals'
import { pauseQueue, type Queue } from '../../api/openapi.gen'
import { foliot } from '../../format/command'
import { Action } from '../../parts/action'
import { Field } from '../../parts/field'

const times = [['10m', '10 minutes'], ['1h', '1 hour'], ['8h', '8 hours'], ['24h', '1 day'], ['', 'without end, until it is resumed'], ['other', 'another time']] as const

// Pause stops a queue for a time or without end.
export function Pause({ queue: q, done }: { queue: Queue; done: () => void }) {
  const choice = useSignal('1h')
  const other = useSignal('30m')
  const span = choice.value === 'other' ? other.value.trim() : choice.value
  const run = async () => {
    await pauseQueue({ queue: q.name }, span ? { for: span } : {})
    return span ? `The queue is paused for ${span}.` : 'The queue is paused until it is resumed.'
  }
  return (
    <Action
      label={q.paused ? 'Pause again' : 'Pause'} title={`Pause ${q.name}`} call={pauseQueue} run={run} done={done}
      command={foliot('queue', 'pause', q.name, ...(span ? ['--for', span] : []))}
    >
      <p>No task of the queue starts, except tasks that are run by hand. Attempts that run go on. Tasks with expire_after may expire.</p>
      <Field label="For" value={choice} options={times} />
      {choice.value === 'other' && <Field label="Duration" value={other} hint="such as 90s or 1h30m" required />}
    </Action>
  )
}
