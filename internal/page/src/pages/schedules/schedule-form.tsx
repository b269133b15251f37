import { zoneOfRule } from '../../format/rule'
import { Field } from '../../parts/field'
import { Masked } from '../../parts/masked'
import { ProblemNote } from '../../parts/notice'
import { RuleFields } from './rule-fields'
import { Instants } from './instants'
import type { RequestErrors, RequestKey, RequestSignals } from './request-form'
import type { ScheduleForm } from './use-form'
import { sentence } from './rule-text'

// ScheduleFields has the fields of a schedule, with the sentence and the next instants of
// its rule. Masked hides headers and body, which may be secret, until the user asks
// for them.
export function ScheduleFields({ of: form, masked }: { of: ScheduleForm; masked: boolean }) {
  const { ruleProblem: problem, shown: { text, value } } = form
  return (
    <>
      <div class="part">
        <h3>Rule</h3>
        <RuleFields rule={form.rule} problem={problem} />
        {!problem?.field && <ProblemNote problem={problem} />}
        {value && !problem && <>
          <p><b>{sentence(value.words, text)}</b></p>
          <Instants caption="Table of the next instants" of={value.instants} zone={zoneOfRule(text)} />
        </>}
      </div>
      <RequestFields of={form.request} errors={form.requestErrors} masked={masked} />
    </>
  )
}

const methods = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']

// Few requests need these.
const limits: [key: RequestKey, label: string, placeholder: string, hint?: string][] = [
  ['timeout', 'Timeout', 'the queue’s, or 15s', 'the longest time of one attempt'],
  ['expire_after', 'Expire after', 'the queue’s, or never', 'the task expires if no attempt starts within this time after its due time'],
  ['max_attempts', 'Max attempts', 'the queue’s, or no limit'],
  ['min_backoff', 'Min backoff', 'the queue’s, or 1s', 'the shortest wait between attempts'],
  ['max_backoff', 'Max backoff', 'the queue’s, or 1h', 'the longest wait between attempts'],
  ['max_age', 'Max age', 'the queue’s, or 24h', 'the longest time for all attempts, from the first one on; 0s: no limit'],
  ['on_dead', 'On dead', 'the queue’s, or no call', 'a URL to call when a task dies'],
]

function RequestFields({ of: r, errors, masked }: { of: RequestSignals; errors: RequestErrors; masked: boolean }) {
  return (
    <div class="part">
      <h3>Request of each task</h3>
      <div class="form">
        <div class="full"><Field label="URL" value={r.url} error={errors.url} required placeholder="https://shop.example/report" /></div>
        <Field label="Method" value={r.method} options={methods} />
        <Field label="Queue" value={r.queue} error={errors.queue} placeholder="default" />
        <Field label="Priority" value={r.priority} options={['high', 'normal', 'low']} />
      </div>
      {masked ? <Masked label="headers and body"><Payload of={r} errors={errors} /></Masked> : <Payload of={r} errors={errors} />}
      <details open={Boolean(errors.labels) || limits.some(([key]) => errors[key])}>
        <summary>Time limits, retries, labels</summary>
        <div class="form">
          {limits.map(([key, label, placeholder, hint]) => <Field key={key} label={label} value={r[key]} error={errors[key]} placeholder={placeholder} hint={hint} />)}
          <Field label="Labels, one per line" value={r.labels} error={errors.labels} rows={2} placeholder="key=value" />
        </div>
      </details>
    </div>
  )
}

function Payload({ of: r, errors }: { of: RequestSignals; errors: RequestErrors }) {
  return (
    <div class="form">
      <div class="full"><Field label="Headers, one per line" value={r.headers} error={errors.headers} rows={2} placeholder="Name: value" /></div>
      <Field label="Body" value={r.kind} options={[['none', 'none'], ['json', 'JSON'], ['text', 'text'], ['base64', 'bytes in base64']]} />
      {r.kind.value !== 'none' && <div class="full"><Field label="Content of the body" value={r.body} error={errors.body} rows={4} /></div>}
    </div>
  )
}
