import { listSecrets, type Task } from '../api/openapi.gen'
import { useData } from '../state/data'
import { link } from '../state/route'
import { forbidden } from '../state/session'
import { Copy } from './copy'
import { Masked } from './masked'
import { Note } from './notice'

// End is what is known of the end of an attempt.
interface End {
  status: number
  error?: string
}

// lastOf returns the last attempt of a task.
export function lastOf(t: Task) {
  return t.attempts.at(-1)
}

// errorText returns the error of an attempt with its status, or the status alone.
export function errorText({ status, error = '' }: End): string {
  const text = error.replace(/^the receiver answered (?=\d)/, 'status ')
  if (!status) return text || 'succeeded' // only a handler succeeds without a status
  return !text ? `status ${status}` : text.includes(String(status)) ? text : `status ${status}: ${text}`
}

// LastError shows the error of the last attempt.
export function LastError({ of: t }: { of: Task }) {
  const last = lastOf(t)
  return last ? <ErrorText of={last} /> : <span class="dim">no attempt started</span>
}

// ErrorText shows the error of an attempt in at most two lines.
export function ErrorText({ of }: { of: End }) {
  return <span class="clamp" title={of.error}>{errorText(of)}</span>
}

// Reply shows the last reply. It may have personal data, so it is masked.
export function Reply({ of: t }: { of: Task }) {
  const reply = lastOf(t)?.reply
  if (!reply) return <span class="dim">{t.hidden ? 'hidden from this token' : 'none'}</span>
  return <Masked label="the reply"><pre tabIndex={0} aria-label="The last reply">{reply}</pre><Copy text={reply} title="Copy the reply" /></Masked>
}

interface Remedy {
  remedy: string
  to?: { text: string; href: string }
}

// useCredentials returns the remedy if the receiver refused the credentials of a
// request, or null. Only a token of scope admin may read whether a queue signs.
export function useCredentials(queue: string, end: End | undefined): Remedy | null {
  const refused = end?.status === 401 || end?.status === 403
  const may = refused && !forbidden(listSecrets)
  const data = useData(async (signal) => (may ? (await listSecrets({}, undefined, signal)).secrets : null), [queue, may])
  if (!refused) return null
  const signs = data.value?.some((s) => !s.queue || s.queue === queue)
  if (signs === false) return { remedy: `The receiver refused the credentials of the request: check its headers. The queue ${queue} does not sign its requests.` }
  const secret = signs ? 'The queue signs its requests: the receiver may have a different signing secret.' : 'If the receiver checks signatures, its signing secret may differ from that of this server.'
  return {
    remedy: `The receiver refused the credentials. ${secret} Otherwise check the headers of the request.`,
    to: { text: 'Open the secrets', href: link('server', '', { tab: 'secrets' }) },
  }
}

export function Credentials({ queue, of }: { queue: string; of: End | undefined }) {
  const c = useCredentials(queue, of)
  return c && <Note tone="warn">{c.remedy} {c.to && <a href={c.to.href}>{c.to.text}</a>}</Note>
}
