import { useSignal } from '@preact/signals'
import { pauseQueue, resumeQueue } from '../api/openapi.gen'
import { foliot } from '../format/command'
import { wrongDuration } from '../format/time'
import { notSaved } from '../state/refusal'
import { Action } from './action'
import { Field } from './field'

const times = [['10m', '10 minutes'], ['30m', '30 minutes'], ['1h', '1 hour'], ['8h', '8 hours'], ['24h', '1 day'], ['', 'until a user resumes it'], ['other', 'another time']] as const

interface PauseProps {
  name: string
  paused: boolean
  done: () => void
}

// Pause stops a queue for a time, or until a user resumes it.
export function Pause({ name, paused, done }: PauseProps) {
  const choice = useSignal('1h')
  const other = useSignal('2h')
  const span = choice.value === 'other' ? other.value.trim() : choice.value
  const wrong = choice.value === 'other' ? wrongDuration(span) : undefined
  const run = async () => {
    if (wrong) throw notSaved
    await pauseQueue({ queue: name }, span ? { for: span } : {})
    return span ? `The queue is paused for ${span}.` : 'The queue is paused until it is resumed.'
  }
  return (
    <Action
      label={paused ? 'Pause again' : 'Pause'} title={`Pause ${name}`} call={pauseQueue} run={run} done={done}
      command={wrong ? '' : foliot('queue', 'pause', name, ...(span ? ['--for', span] : []))}
    >
      <p>No task of the queue starts, except after Run now. Running attempts continue. Tasks with <code>expire_after</code> may expire.</p>
      <Field label="For" value={choice} options={times} />
      {choice.value === 'other' && <Field label="Duration" value={other} error={wrong} required />}
    </Action>
  )
}

// Resume ends the pause of a queue.
export function Resume({ name, paused, done }: PauseProps) {
  return (
    <Action
      label="Resume" title={`Resume ${name}`} call={resumeQueue} off={paused ? '' : 'The queue is not paused.'} command={foliot('queue', 'resume', name)}
      run={async () => (await resumeQueue({ queue: name }), 'The queue is resumed.')} done={done}
    ><p>Tasks that became due during the pause start now, within the limits.</p></Action>
  )
}
