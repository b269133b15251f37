import { signal, type Signal } from '@preact/signals'
import { Refusal } from '../../api/call'
import type { Queue, QueueInput, Retry } from '../../api/openapi.gen'
import { plain } from '../../format/time'

// The form of a queue's settings. Each field is a text, as the user types it: an
// empty one is not set.

type Kind = 'number' | 'text' | 'flag'

export interface Setting {
  key: string // its name in the API
  label: string
  hint: string
  kind: Kind
  retry?: boolean // a field of retry
  unset: string // the value of the flag of foliot that removes it
  unlimited?: boolean // 0 means no limit, which the flag writes as unlimited
}

export const limits: Setting[] = [
  { key: 'rate', label: 'Rate', hint: 'attempts that may start in a second; 0.1: one in ten seconds', kind: 'number', unset: 'unlimited' },
  { key: 'burst', label: 'Burst', hint: 'attempts that may start at once after a time without attempts; needs a rate', kind: 'number', unset: '0' },
  { key: 'concurrency', label: 'Concurrency', hint: 'attempts that may run at once', kind: 'number', unset: 'unlimited' },
  { key: 'per_destination', label: 'Per destination', hint: 'attempts to one host and port that may run at once', kind: 'number', unset: 'unlimited' },
]

export const retention: Setting[] = [
  { key: 'keep_finished', label: 'Keep finished', hint: 'such as 72h; not set: the server’s (--keep-finished)', kind: 'text', unset: '0s' },
  { key: 'keep_dead', label: 'Keep dead', hint: 'such as 168h; not set: the server’s (--keep-dead)', kind: 'text', unset: '0s' },
  { key: 'keep_bodies', label: 'Keep bodies', hint: 'of finished tasks, so that they can be sent again', kind: 'flag', unset: '' },
]

export const defaults: Setting[] = [
  { key: 'max_attempts', label: 'Max attempts', hint: '0: no limit', kind: 'number', retry: true, unset: '0', unlimited: true },
  { key: 'min_backoff', label: 'Min backoff', hint: 'the shortest wait between attempts', kind: 'text', retry: true, unset: '0s' },
  { key: 'max_backoff', label: 'Max backoff', hint: 'the longest wait between attempts', kind: 'text', retry: true, unset: '0s' },
  { key: 'max_age', label: 'Max age', hint: 'the longest time for all attempts, from the first one on; 0s: no limit', kind: 'text', retry: true, unset: '0s', unlimited: true },
  { key: 'timeout', label: 'Timeout', hint: 'the longest time of one attempt', kind: 'text', unset: '0s' },
  { key: 'expire_after', label: 'Expire after', hint: 'the task expires if no attempt starts within this time after its due time', kind: 'text', unset: '0s' },
  { key: 'on_dead', label: 'On dead', hint: 'a URL to call when a task dies', kind: 'text', unset: '' },
]

const all = [...limits, ...retention, ...defaults]

export type Form = Record<string, Signal<string>>

export function newForm(): Form {
  return Object.fromEntries(all.map((s) => [s.key, signal('')]))
}

// settingText returns a setting of a queue as text.
export function settingText(q: Queue | null, s: Setting): string {
  const value = (s.retry ? q?.retry?.[s.key as keyof Retry] : q?.[s.key as keyof Queue]) as string | number | boolean | undefined
  return value === undefined || value === false ? '' : plain(String(value))
}

export function fill(form: Form, q: Queue | null): void {
  for (const s of all) form[s.key]!.value = settingText(q, s)
}

// inputOf returns the body of a PUT: all settings, because a PUT replaces them.
export function inputOf(form: Form): QueueInput {
  const out: Record<string, unknown> = {}
  const retry: Record<string, unknown> = {}
  for (const s of all) {
    const text = form[s.key]!.value.trim()
    if (text !== '') (s.retry ? retry : out)[s.key] = valueOf(s, text)
  }
  return Object.keys(retry).length ? { ...out, retry } : out
}

function valueOf(s: Setting, text: string): string | number | boolean {
  if (s.kind === 'text') return text
  if (s.kind === 'flag') return text === 'true'
  const n = Number(text)
  if (Number.isNaN(n)) throw new Refusal({ type: 'about:blank', title: 'Not a number.', status: 0, code: 'wrong_type', detail: `“${text}” is not a number.`, field: s.key })
  return n
}

// changesOf returns the flags of foliot queue set for the fields that changed. The
// command keeps all other settings.
export function changesOf(form: Form, q: Queue | null): string[] {
  const out: string[] = []
  for (const s of all) {
    const text = form[s.key]!.value.trim()
    if (text === settingText(q, s)) continue
    const name = s.key.replaceAll('_', '-')
    if (s.kind === 'flag') out.push(text === 'true' ? `--${name}` : `--no-${name}`)
    else out.push(`--${name}=${text === '' ? s.unset : s.unlimited && /^0[a-z]*$/.test(text) ? 'unlimited' : text}`)
  }
  return out
}
