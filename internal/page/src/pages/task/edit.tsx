import { signal, useSignal, useSignalEffect, type Signal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { patchTask, type TaskPatch } from '../../api/openapi.gen'
import { indent, rounded } from '../../format/json'
import { plain } from '../../format/time'
import { Action } from '../../parts/action'
import { Field } from '../../parts/field'
import { etag } from './actions'
import { bodyKind, bodyText, endedExceptDead, type BodyKind, type TaskRead } from './read'

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

// Edit changes single fields of a task. It sends only those that the user changed,
// and the version that was shown, so that it overwrites no other change.
export function Edit({ read, done }: { read: TaskRead; done: () => void }) {
  const { task: t } = read
  const off = endedExceptDead(t) ? `The task is ${t.state}: only its record is left.` : ''
  const patch = useSignal<TaskPatch>({})
  const start = useSignal(read)
  const problem = useSignal('')
  const run = async () => {
    if (problem.value) throw new Error(problem.value)
    if (Object.keys(patch.value).length === 0) throw new Error('Nothing has been changed.')
    await patchTask({ name: t.name, ifMatch: etag(start.value.task) }, patch.value)
    return t.state === 'running' ? 'Changed. The running attempt still has the old fields.' : 'The task is changed.'
  }
  return (
    <Action label="Edit" call={patchTask} off={off} run={run} done={done} title="Edit the task">
      <Form start={start} read={read} patch={patch} problem={problem} />
    </Action>
  )
}

interface Values {
  url: string
  method: string
  headers: string
  kind: BodyKind
  body: string
  queue: string
  priority: string
  labels: string
  timeout: string
  expire: string
  attempts: string
  minBackoff: string
  maxBackoff: string
  maxAge: string
  onDead: string
}

function valuesOf(read: TaskRead): Values {
  const { task: t } = read
  const kind = bodyKind(read)
  const lines = (of: Record<string, string> | undefined, by: string) => Object.entries(of ?? {}).map(([k, v]) => k + by + v).join('\n')
  return {
    url: t.http.url, method: t.http.method ?? 'POST', headers: lines(t.http.headers, ': '),
    kind, body: kind === 'json' ? indent(bodyText(read)) : bodyText(read),
    queue: t.queue, priority: t.priority, labels: lines(t.labels, '='),
    timeout: plain(t.timeout), expire: plain(t.expire_after ?? '0s'), attempts: String(t.retry.max_attempts ?? 0),
    minBackoff: plain(t.retry.min_backoff ?? ''), maxBackoff: plain(t.retry.max_backoff ?? ''), maxAge: plain(t.retry.max_age ?? ''), onDead: t.on_dead ?? '',
  }
}

type Fields = { [K in keyof Values]: Signal<string> }

function Form({ start, read, patch, problem }: { start: Signal<TaskRead>; read: TaskRead; patch: Signal<TaskPatch>; problem: Signal<string> }) {
  // The task may change while the form is open: the fields stay as they were.
  const before = useMemo(() => valuesOf(read), [])
  const f = useMemo(() => Object.fromEntries(Object.entries(before).map(([key, value]) => [key, signal(value)])) as unknown as Fields, [])
  useMemo(() => void (start.value = read), [])
  useSignalEffect(() => {
    const now = Object.fromEntries(Object.entries(f).map(([key, s]) => [key, s.value])) as unknown as Values
    try {
      patch.value = changes(before, now)
      problem.value = ''
    } catch (err) {
      patch.value = {}
      problem.value = (err as Error).message
    }
  })
  const kinds: [string, string][] = [['none', 'none'], ['json', 'JSON'], ['text', 'text']]
  if (before.kind === 'bytes') kinds.push(['bytes', 'bytes, unchanged'])
  const typed = f.kind.value === 'json' || f.kind.value === 'text'
  return (
    <>
      <div class="form">
        <div class="full"><Field label="URL" value={f.url} required /></div>
        <Field label="Method" value={f.method} options={methods} />
        <Field label="Queue" value={f.queue} />
        <Field label="Priority" value={f.priority} options={['high', 'normal', 'low']} />
        <div class="full"><Field label="Headers, one per line" value={f.headers} rows={3} placeholder="Name: value" /></div>
        <Field label="Body" value={f.kind} options={kinds} />
        {typed && <div class="full"><Field label="Content of the body" value={f.body} rows={6} /></div>}
        <div class="full"><Field label="Labels, one per line" value={f.labels} rows={2} placeholder="key=value" /></div>
        <Field label="Timeout" value={f.timeout} />
        <Field label="Expire after" value={f.expire} hint="0s: never" />
        <Field label="Max attempts" value={f.attempts} type="number" hint="0: no limit" />
        <Field label="Min backoff" value={f.minBackoff} />
        <Field label="Max backoff" value={f.maxBackoff} />
        <Field label="Max age" value={f.maxAge} hint="0s: no limit" />
        <div class="full"><Field label="On dead" value={f.onDead} placeholder="a URL to call when the task dies" /></div>
      </div>
      <p class="dim">Only changed fields are sent. An empty duration takes the default of the queue. {read.task.state === 'running' && 'The running attempt keeps the old fields.'}</p>
      {problem.value && <p class="note warn" role="alert">{problem.value}</p>}
      {Object.keys(patch.value).length > 0 && <details><summary>The request</summary><pre tabIndex={0}>{`PATCH v1/tasks/${read.task.name}\nIf-Match: ${etag(start.value.task)}\n\n${JSON.stringify(patch.value, null, 2)}`}</pre></details>}
    </>
  )
}

// changes returns the fields that differ. Null removes a member of a map, and gives
// a field the default of the queue.
function changes(a: Values, b: Values): TaskPatch {
  const out: TaskPatch = {}
  const http: NonNullable<TaskPatch['http']> = {}
  const retry: NonNullable<TaskPatch['retry']> = {}
  if (b.url !== a.url) http.url = b.url.trim()
  if (b.method !== a.method) http.method = b.method
  if (b.headers !== a.headers) http.headers = difference(pairs(a.headers, ':'), pairs(b.headers, ':'))
  if (b.kind !== a.kind || (b.kind !== 'bytes' && b.body !== a.body)) Object.assign(http, body(b))
  if (b.queue !== a.queue) out.queue = b.queue || null
  if (b.priority !== a.priority) out.priority = b.priority
  if (b.labels !== a.labels) out.labels = difference(pairs(a.labels, '='), pairs(b.labels, '='))
  if (b.timeout !== a.timeout) out.timeout = b.timeout || null
  if (b.expire !== a.expire) out.expire_after = b.expire || null
  if (b.onDead !== a.onDead) out.on_dead = b.onDead
  if (b.attempts !== a.attempts) retry.max_attempts = b.attempts === '' ? null : Number(b.attempts)
  if (b.minBackoff !== a.minBackoff) retry.min_backoff = b.minBackoff || null
  if (b.maxBackoff !== a.maxBackoff) retry.max_backoff = b.maxBackoff || null
  if (b.maxAge !== a.maxAge) retry.max_age = b.maxAge || null
  if (Object.keys(http).length) out.http = http
  if (Object.keys(retry).length) out.retry = retry
  return out
}

function body(v: Values): { body: unknown } {
  if (v.kind === 'none') return { body: null }
  if (v.kind === 'text') return { body: v.body }
  const number = rounded(v.body)
  if (number) throw new Error(`A browser cannot send the number ${number} exactly. Use the API or the Go client for this body.`)
  try {
    return { body: JSON.parse(v.body) }
  } catch (err) {
    throw new Error('The body is not valid JSON: ' + (err as Error).message)
  }
}

function pairs(text: string, by: string): Record<string, string> {
  const out: Record<string, string> = Object.create(null) // it has no __proto__
  for (const line of text.split('\n')) {
    if (!line.trim()) continue
    const at = line.indexOf(by)
    if (at < 1) throw new Error(`The line "${line}" has no ${by === ':' ? 'colon' : 'equals sign'}.`)
    out[line.slice(0, at).trim()] = line.slice(at + 1).trim()
  }
  return out
}

function difference(a: Record<string, string>, b: Record<string, string>): Record<string, string | null> {
  const out: Record<string, string | null> = Object.create(null)
  for (const key of Object.keys(a)) if (!Object.hasOwn(b, key)) out[key] = null
  for (const [key, value] of Object.entries(b)) if (a[key] !== value) out[key] = value
  return out
}
