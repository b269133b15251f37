import { Field } from './field'
import { Masked } from './masked'
import { methods, priorities, taskSettings, type RequestErrors, type RequestSignals } from './request-text'

interface RequestFieldsProps {
  of: RequestSignals
  errors: RequestErrors
  kinds: readonly (readonly [value: string, text: string])[] // of bodies
  masked: boolean // headers and body, which may be secret, are hidden until the user asks for them
  unfolded?: boolean // shows the settings that few requests need
}

// RequestFields has the fields of a request and of its attempts, each with its error.
export function RequestFields({ of: r, errors, kinds, masked, unfolded }: RequestFieldsProps) {
  const payload = <Payload of={r} errors={errors} kinds={kinds} />
  return (
    <>
      <div class="form">
        {r.work.value ? <p class="full">Kind: <code>{r.work.value}</code></p> : <>
          <div class="full"><Field label="URL" value={r.url} error={errors.url} required placeholder="https://shop.example/report" /></div>
          <Field label="Method" value={r.method} options={methods} />
        </>}
        <Field label="Queue" value={r.queue} error={errors.queue} placeholder="default" />
        <Field label="Priority" value={r.priority} options={priorities} />
      </div>
      {masked ? <Masked label={r.work.value ? 'arguments' : 'headers and body'}>{payload}</Masked> : payload}
      <details open={unfolded || Boolean(errors.labels) || taskSettings.some((s) => errors[s.key])}>
        <summary>Time limits, retries, labels</summary>
        <div class="form">
          {taskSettings.map((s) => <Field key={s.key} label={s.label} value={r[s.key]} error={errors[s.key]} placeholder={`default (queue’s, or ${s.fallback})`} hint={s.hint} />)}
          <Field label="Labels, one per line" value={r.labels} error={errors.labels} rows={2} placeholder="key=value" />
        </div>
      </details>
    </>
  )
}

function Payload({ of: r, errors, kinds }: Pick<RequestFieldsProps, 'of' | 'errors' | 'kinds'>) {
  const typed = r.kind.value !== 'none' && r.kind.value !== 'bytes'
  if (r.work.value) return (
    <div class="form">
      <Field label="Arguments" value={r.kind} options={[['none', 'none'], ['json', 'JSON']]} />
      {typed && <div class="full"><Field label="Content of the arguments" value={r.body} error={errors.body} rows={4} /></div>}
    </div>
  )
  return (
    <div class="form">
      <div class="full"><Field label="Headers, one per line" value={r.headers} error={errors.headers} rows={2} placeholder="Name: value" /></div>
      <Field label="Body" value={r.kind} options={kinds} />
      {typed && <div class="full"><Field label="Content of the body" value={r.body} error={errors.body} rows={4} /></div>}
    </div>
  )
}
