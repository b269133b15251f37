import { listSecrets, type Queue } from '../../api/openapi.gen'
import { bytes, count, plural } from '../../format/number'
import { useData } from '../../state/data'
import { link } from '../../state/route'
import { forbidden } from '../../state/session'
import { Facts, Panel } from '../../parts/panel'
import { Time } from '../../parts/time'
import { countedStates } from './counts'
import { bodiesKept, defaults, settingText } from './form'

// CountPanel shows the tasks of a queue by state.
export function CountPanel({ queue: q }: { queue: Queue }) {
  return (
    <Panel title="Tasks" aside={<a href={link('upcoming', '', { queue: q.name })}>Upcoming tasks</a>}>
      <div class="figures">
        {countedStates.map((state) => (
          <div class="figure" key={state}>
            <b class={state === 'dead' && q.counts.dead ? 'bad' : ''}>{q.counts[state] ? <a href={state === 'dead' ? link('dead', '', { queue: q.name }) : link('tasks', '', { queue: q.name, state })}>{count(q.counts[state])}</a> : '0'}</b>
            <span>{state}</span>
          </div>
        ))}
      </div>
      <p class="dim">{bytes(q.counts.bytes)} in the store. <a href={link('tasks', '', { queue: q.name })}>All tasks of the queue</a></p>
    </Panel>
  )
}

// Details shows how long the queue keeps tasks, its secrets and its record.
export function Details({ queue: q }: { queue: Queue }) {
  const unset = <span class="dim">not set (server default)</span>
  return (
    <Panel title="Details">
      <Facts of={[
        ['Keep finished', q.keep_finished || unset],
        ['Keep dead', q.keep_dead || unset],
        ['Keep bodies', q.keep_bodies ? `yes: ${bodiesKept}` : 'no'],
        ['Signing secrets', <Secrets name={q.name} />],
        ['Settings', q.version ? <>created <Time at={q.created_at} />, version {q.version}</> : <span class="dim">none (server defaults)</span>],
      ]} />
    </Panel>
  )
}

// Defaults shows the values for tasks that do not set them.
export function Defaults({ queue: q }: { queue: Queue }) {
  const noLimit = (key: string, text: string) => (key === 'max_attempts' && text === '0') || (key === 'max_age' && text === '0s')
  const set = defaults.map((s) => [s, settingText(q, s)] as const).filter(([, text]) => text !== '')
  const unset = defaults.filter((s) => settingText(q, s) === '').map((s) => s.label.toLowerCase())
  return (
    <Panel title="Defaults for tasks that do not set them">
      {set.length > 0 && <Facts of={set.map(([s, text]) => [s.label, noLimit(s.key, text) ? 'no limit' : text])} />}
      {unset.length > 0 && <p class="dim">Not set (server default): {unset.join(', ')}.</p>}
    </Panel>
  )
}

// Secrets counts the signing secrets of a queue. A queue without any uses those of the
// namespace.
function Secrets({ name }: { name: string }) {
  const reason = forbidden(listSecrets)
  return reason ? <span class="dim">{reason}</span> : <SecretCount name={name} />
}

function SecretCount({ name }: { name: string }) {
  const data = useData((signal) => listSecrets({}, undefined, signal), [name])
  if (!data.value) return <span class="dim">{data.problem?.detail ?? '…'}</span>
  const own = data.value.secrets.filter((s) => s.queue === name).length
  const others = data.value.secrets.filter((s) => !s.queue).length
  if (own) return <>{plural(own, 'secret')} of its own</>
  return <>none of its own; the namespace has {others}</>
}
