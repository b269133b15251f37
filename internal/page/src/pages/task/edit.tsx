import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { guarded } from '../../api/call'
import { patchTask, type TaskPatch } from '../../api/openapi.gen'
import { indent } from '../../format/json'
import { pairLines, pairs } from '../../format/pairs'
import { ActionButton, Confirm } from '../../parts/action'
import { marked, withBody } from '../../parts/request-body'
import { RequestFields } from '../../parts/request-fields'
import { requestIn, requestKeyOf, useRequest, wrongIn, type RequestText } from '../../parts/request-text'
import { notSaved, useRefusal } from '../../state/refusal'
import { etag, replaced } from './actions'
import { bodyKind, bodyText, endedExceptDead, type TaskRead } from './read'

interface Props {
  read: TaskRead
  done: () => void
}

// Edit changes single fields of a task. It sends only those that the user changed, and
// the version that was shown, so that it overwrites no other change.
export function Edit({ read, done }: Props) {
  const { task: t } = read
  const opened = useSignal(false)
  return (
    <>
      <ActionButton label="Edit" call={patchTask} off={endedExceptDead(t) ? `The task is ${t.state}: only its record is left.` : ''} open={() => (opened.value = true)} />
      {opened.value && <EditForm read={read} done={done} onClose={() => (opened.value = false)} />}
    </>
  )
}

function EditForm({ read, done, onClose }: Props & { onClose: () => void }) {
  // The task may change while the form is open: the fields stay as they were.
  const start = useMemo(() => read, [])
  const before = useMemo(() => requestOf(start), [])
  const form = useRequest(before)
  const now = requestIn(form)
  const [refused, send] = useRefusal(JSON.stringify(now), (field) => requestKeyOf(field) !== undefined)
  const errors = refused ? { [requestKeyOf(refused.field!)!]: refused.detail } : wrongIn(now)
  const patch = Object.keys(errors).length > 0 ? {} : changes(before, now)
  const running = read.task.state === 'running'
  const save = async () => {
    if (Object.keys(errors).length > 0) throw notSaved
    if (Object.keys(patch).length === 0) throw new Error('Nothing has been changed.')
    await send(() => guarded(patchTask({ name: start.task.name, ifMatch: etag(start.task) }, withBody(patch, now.body)), replaced))
    return running ? 'Changed. The running attempt still has the old fields.' : 'The task is changed.'
  }
  const kinds = [['none', 'none'], ['json', 'JSON'], ['text', 'text'], ...(before.kind === 'bytes' ? [['bytes', 'bytes, unchanged'] as const] : [])] as const
  return (
    <Confirm label="Save" title="Edit the task" call={patchTask} run={save} done={done} onClose={onClose}>
      <RequestFields of={form} errors={errors} kinds={kinds} masked={false} unfolded />
      <p class="dim">Only changed fields are sent. An empty field takes its default. Without a URL, On dead makes no call. {running && 'The running attempt keeps the old fields.'}</p>
      {Object.keys(patch).length > 0 && <details><summary>The request</summary><pre tabIndex={0}>{`PATCH v1/tasks/${start.task.name}\nIf-Match: ${etag(start.task)}\n\n${withBody(patch, now.body, 2)}`}</pre></details>}
    </Confirm>
  )
}

function requestOf(read: TaskRead): RequestText {
  const { http = { url: '' }, work, retry, ...t } = read.task
  const kind = bodyKind(read)
  return {
    url: http.url, method: http.method ?? 'POST', headers: pairLines(http.headers, ':'), kind, body: kind === 'json' ? indent(bodyText(read)) : bodyText(read),
    work: work?.kind ?? '', queue: t.queue, priority: t.priority, labels: pairLines(t.labels, '='), timeout: t.timeout, expire_after: t.expire_after ?? '0s', on_dead: t.on_dead ?? '',
    max_attempts: String(retry.max_attempts ?? 0), min_backoff: retry.min_backoff ?? '', max_backoff: retry.max_backoff ?? '', max_age: retry.max_age ?? '',
  }
}

const newBody = (a: RequestText, b: RequestText): boolean => b.kind !== a.kind || (b.kind !== 'bytes' && b.body !== a.body)

// changes returns the fields that differ. Null removes a member of a map, and gives
// a field the default of the queue.
function changes(a: RequestText, b: RequestText): TaskPatch {
  const out: TaskPatch = {}
  const http: NonNullable<TaskPatch['http']> = {}
  const retry: NonNullable<TaskPatch['retry']> = {}
  if (b.url !== a.url) http.url = b.url.trim()
  if (b.method !== a.method) http.method = b.method
  if (b.headers !== a.headers) http.headers = difference(pairs(a.headers, ':'), pairs(b.headers, ':'))
  const body = b.kind === 'none' ? null : b.kind === 'text' ? b.body : marked
  if (newBody(a, b) && b.work) out.work = { args: body }
  else if (newBody(a, b)) http.body = body
  if (b.queue !== a.queue) out.queue = b.queue || null
  if (b.priority !== a.priority) out.priority = b.priority
  if (b.labels !== a.labels) out.labels = difference(pairs(a.labels, '='), pairs(b.labels, '='))
  if (b.timeout !== a.timeout) out.timeout = b.timeout || null
  if (b.expire_after !== a.expire_after) out.expire_after = b.expire_after || null
  if (b.on_dead !== a.on_dead) out.on_dead = b.on_dead
  if (b.max_attempts !== a.max_attempts) retry.max_attempts = b.max_attempts.trim() === '' ? null : Number(b.max_attempts)
  if (b.min_backoff !== a.min_backoff) retry.min_backoff = b.min_backoff || null
  if (b.max_backoff !== a.max_backoff) retry.max_backoff = b.max_backoff || null
  if (b.max_age !== a.max_age) retry.max_age = b.max_age || null
  if (Object.keys(http).length) out.http = http
  if (Object.keys(retry).length) out.retry = retry
  return out
}

function difference(a: Record<string, string>, b: Record<string, string>): Record<string, string | null> {
  const out: Record<string, string | null> = Object.create(null)
  for (const key of Object.keys(a)) if (!Object.hasOwn(b, key)) out[key] = null
  for (const [key, value] of Object.entries(b)) if (a[key] !== value) out[key] = value
  return out
}
