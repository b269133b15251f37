import type { Task } from '../api/openapi.gen'
import { Copy } from './copy'
import { Masked } from './masked'

// lastOf returns the last attempt of a task.
export function lastOf(t: Task) {
  return t.attempts.at(-1)
}

// LastError shows the status and the error of the last attempt.
export function LastError({ of: t }: { of: Task }) {
  const last = lastOf(t)
  if (!last) return <span class="dim">no attempt started</span>
  return <Why status={last.status} error={last.error} />
}

// Why shows the status and the error of an attempt in at most two lines.
export function Why({ status, error = '' }: { status: number; error?: string }) {
  return <span class="clamp" title={error}>{status > 0 && <b>{status} </b>}{error}</span>
}

// Reply shows the last reply. It may have personal data, so it is masked.
export function Reply({ of: t }: { of: Task }) {
  const reply = lastOf(t)?.reply
  if (!reply) return <span class="dim">{t.hidden ? 'hidden from this token' : 'none'}</span>
  return <Masked label="the reply"><pre tabIndex={0} aria-label="The last reply">{reply}</pre><Copy text={reply} title="Copy the reply" /></Masked>
}
