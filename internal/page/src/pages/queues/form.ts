import { signal, type Signal } from '@preact/signals'
import type { Queue, QueueInput, Retry } from '../../api/openapi.gen'
import { taskSettings, wrongSetting } from '../../parts/request-text'

// The form of a queue's settings. Each field is a text, as the user types it: an
// empty one is not set.

type Kind = 'rate' | 'number' | 'duration' | 'text' | 'flag'

export interface Setting {
  key: string // its name in the API
  label: string
  hint: string
  kind: Kind
  fallback: string // the value if it is not set
  retry?: boolean // a field of retry
  unset: string // the value of the flag of foliot that removes it
  unlimited?: boolean // 0 means no limit, which the flag writes as unlimited
}

export const limits: Setting[] = [
  { key: 'rate', label: 'Rate', hint: 'attempts that may start in a second; 0.1: one in ten seconds', kind: 'rate', fallback: 'no limit', unset: 'unlimited' },
  { key: 'burst', label: 'Burst', hint: 'attempts that may start at once after a time without attempts; needs a rate', kind: 'number', fallback: 'the attempts of one second', unset: '0' },
  { key: 'concurrency', label: 'Concurrency', hint: 'attempts that may run at once', kind: 'number', fallback: 'no limit', unset: 'unlimited' },
  { key: 'per_destination', label: 'Per destination', hint: 'attempts to one host and port that may run at once', kind: 'number', fallback: 'no limit', unset: 'unlimited' },
]

export const bodiesKept = 'the bodies of finished tasks are kept, so that they can be sent again'

export const retention: Setting[] = [
  { key: 'keep_finished', label: 'Keep finished', hint: 'such as 72h', kind: 'duration', fallback: '--keep-finished', unset: '0s' },
  { key: 'keep_dead', label: 'Keep dead', hint: 'such as 168h', kind: 'duration', fallback: '--keep-dead', unset: '0s' },
  { key: 'keep_bodies', label: 'Keep bodies', hint: `yes: ${bodiesKept}`, kind: 'flag', fallback: 'no', unset: '' },
]

export const defaults: Setting[] = taskSettings.map((s) => ({
  ...s, unset: s.kind === 'duration' ? '0s' : s.kind === 'number' ? '0' : '', unlimited: s.key === 'max_attempts' || s.key === 'max_age',
}))

const all = [...limits, ...retention, ...defaults]

export type Form = Record<string, Signal<string>>

export function newForm(): Form {
  return Object.fromEntries(all.map((s) => [s.key, signal('')]))
}

// settingText returns a setting of a queue as text.
export function settingText(q: Queue | null, s: Setting): string {
  const value = (s.retry ? q?.retry?.[s.key as keyof Retry] : q?.[s.key as keyof Queue]) as string | number | boolean | undefined
  return value === undefined || value === false ? '' : String(value)
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
  if (s.kind === 'flag') return text === 'true'
  return s.kind === 'rate' || s.kind === 'number' ? Number(text) : text
}

// errorsIn returns the errors of a form that the page finds itself.
export function errorsIn(form: Form): Record<string, string> {
  const out: Record<string, string> = {}
  for (const s of all) {
    const text = form[s.key]!.value
    const error = s.kind === 'rate' ? (Number(text) >= 0 ? undefined : 'must be a number') : s.kind === 'flag' ? undefined : wrongSetting(s.kind, text)
    if (error) out[s.key] = error
  }
  return out
}

// settingOf returns the setting for a field of the API, such as retry.max_age.
export function settingOf(field: string): string | undefined {
  return all.find((s) => s.key === field.replace('retry.', ''))?.key
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
    else {
      const value = s.kind === 'rate' || s.kind === 'number' ? String(Number(text)) : text
      out.push(`--${name}=${text === '' ? s.unset : (s.unlimited || s.unset === 'unlimited') && /^0[a-z]*$/.test(value) ? 'unlimited' : value}`)
    }
  }
  return out
}
