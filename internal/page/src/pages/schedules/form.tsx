import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { request as send } from '../../api/call'
import { previewRule, putSchedule, type Problem, type Schedule } from '../../api/openapi.gen'
import { foliot } from '../../format/command'
import { ruleOf, textOf, used, zoneOfRule, type RuleText } from '../../format/rule'
import { Action, Confirm } from '../../parts/action'
import { Field } from '../../parts/field'
import { Masked } from '../../parts/masked'
import { ProblemNote } from '../../parts/notice'
import { useLatest, useSettled } from '../../state/latest'
import { problemOf } from '../../state/data'
import { go } from '../../state/route'
import { RuleFields, textIn, useRule } from './fields'
import { Instants } from './instants'
import { addCommand, bodyOf, newRequest, requestIn, requestOf, setCommand, useRequest, type RequestSignals, type RequestText } from './request'

// NewSchedule is the form for a schedule that does not exist yet.
export function NewSchedule({ initial, opened, closed }: { initial: RuleText; opened: boolean; closed: () => void }) {
  const name = useSignal('')
  const paused = useSignal('')
  const rule = useRule(initial)
  const request = useRequest(newRequest)
  const text = textIn(rule)
  return (
    <Action
      label="New schedule" primary wide call={putSchedule} opened={opened} closed={closed}
      command={foliot(...addCommand(name.value.trim(), text, requestIn(request), paused.value !== ''))}
      run={async () => {
        const created = await putSchedule({ name: name.value.trim(), ifNoneMatch: '*' }, bodyOf(text, requestIn(request), paused.value !== '' || undefined))
        go('schedules', created.name)
        return `Schedule ${created.name} created: it runs ${created.words}.`
      }}
    >
      <div class="form">
        <Field label="Name" value={name} required placeholder="nightly-report" hint="letters, digits and . _ : -, at most 200" />
        <Field label="At first" value={paused} options={[['', 'active: creates tasks'], ['yes', 'paused: creates no tasks yet']]} />
      </div>
      <Rule rule={rule} />
      <RequestFields of={request} masked={false} />
    </Action>
  )
}

// EditSchedule changes a schedule. It reads the schedule again, so that the change
// is refused only if another one was made in the meantime.
export function EditSchedule({ of, closed, done }: { of: string; closed: () => void; done: () => void }) {
  const read = useSignal<{ schedule: Schedule; request: RequestText } | null>(null)
  const problem = useSignal<Problem | null>(null)
  useEffect(() => {
    const stop = new AbortController()
    load(of, stop.signal).then((r) => (read.value = r), (err) => !stop.signal.aborted && (problem.value = problemOf(err)))
    return () => stop.abort()
  }, [])
  if (problem.value) return <ProblemNote problem={problem.value} />
  return read.value && <EditForm {...read.value} closed={closed} done={done} />
}

async function load(name: string, signal: AbortSignal): Promise<{ schedule: Schedule; request: RequestText }> {
  const reply = await (await send('GET', 'v1/schedules/' + encodeURIComponent(name), {}, undefined, signal)).text()
  const schedule = JSON.parse(reply) as Schedule
  return { schedule, request: requestOf(schedule, reply) }
}

function EditForm({ schedule: s, request: before, closed, done }: { schedule: Schedule; request: RequestText; closed: () => void; done: () => void }) {
  const rule = useRule(textOf(s))
  const request = useRequest(before)
  const text = textIn(rule)
  return (
    <Confirm
      label="Save" title={'Edit ' + s.name} wide call={putSchedule} onClose={closed} done={done}
      command={foliot(...setCommand(s, before, text, requestIn(request)))}
      run={async () => {
        const saved = await putSchedule({ name: s.name, ifMatch: `"${s.id}.${s.version}"` }, bodyOf(text, requestIn(request), undefined))
        return `Saved: ${saved.name} runs ${saved.words}.`
      }}
    >
      <p>Existing tasks do not change. If the instants change, the schedule continues with the first new instant from now on.</p>
      <Rule rule={rule} />
      <RequestFields of={request} masked={Boolean(before.headers || before.kind !== 'none')} />
    </Confirm>
  )
}

// Rule is the rule of a form with its sentence and its next instants.
function Rule({ rule }: { rule: ReturnType<typeof useRule> }) {
  const key = useSettled(JSON.stringify(textIn(rule)))
  const text = JSON.parse(key) as RuleText
  const { value, problem } = useLatest(used(text).length ? (signal) => previewRule({ limit: 3 }, ruleOf(text), signal) : null, [key])
  return (
    <div class="part">
      <h3>Rule</h3>
      <RuleFields rule={rule} problem={problem} />
      {value && <div class={problem ? 'stale' : ''}>
        <p><b>Runs {value.words}.</b></p>
        <Instants caption="Table of the next instants" of={value.instants} zone={zoneOfRule(text)} />
      </div>}
    </div>
  )
}

const methods = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']

function RequestFields({ of: r, masked }: { of: RequestSignals; masked: boolean }) {
  return (
    <div class="part">
      <h3>Request of each task</h3>
      <div class="form">
        <div class="full"><Field label="URL" value={r.url} required placeholder="https://shop.example/report" /></div>
        <Field label="Method" value={r.method} options={methods} />
        <Field label="Queue" value={r.queue} placeholder="default" />
        <Field label="Priority" value={r.priority} options={['high', 'normal', 'low']} />
      </div>
      {masked ? <Masked label="headers and body"><Payload of={r} /></Masked> : <Payload of={r} />}
      <details>
        <summary>Time limits, retries, labels</summary>
        <div class="form">
          <Field label="Timeout of an attempt" value={r.timeout} placeholder="the queue’s, or 15s" />
          <Field label="Expire after" value={r.expire_after} placeholder="the queue’s, or never" hint="No attempt starts later than this after the due time." />
          <Field label="Largest number of attempts" value={r.max_attempts} placeholder="the queue’s, or no limit" />
          <Field label="Shortest wait between attempts" value={r.min_backoff} placeholder="the queue’s, or 1s" />
          <Field label="Longest wait between attempts" value={r.max_backoff} placeholder="the queue’s, or 1h" />
          <Field label="Longest time for all attempts" value={r.max_age} placeholder="the queue’s, or 24h" />
          <Field label="Call this URL when a task dies" value={r.on_dead} placeholder="the queue’s, or none" />
          <Field label="Labels, one in each line" value={r.labels} rows={2} placeholder="tenant=acme" />
        </div>
      </details>
    </div>
  )
}

function Payload({ of: r }: { of: RequestSignals }) {
  return (
    <div class="form">
      <div class="full"><Field label="Headers, one in each line" value={r.headers} rows={2} placeholder="X-Shop: 7" /></div>
      <Field label="Body" value={r.kind} options={[['none', 'none'], ['json', 'JSON'], ['text', 'text'], ['base64', 'bytes in base64']]} />
      {r.kind.value !== 'none' && <div class="full"><Field label="Content" value={r.body} rows={4} /></div>}
    </div>
  )
}
