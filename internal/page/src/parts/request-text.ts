import { signal, type Signal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { wrongPairs } from '../format/pairs'
import { wrongDuration } from '../format/time'

// The settings of tasks in the forms of queues, schedules and tasks. Each field of a form
// is a text, as the user types it.

export const methods = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']
export const priorities = ['high', 'normal', 'low']

interface TaskSetting {
  key: 'timeout' | 'expire_after' | 'max_attempts' | 'min_backoff' | 'max_backoff' | 'max_age' | 'on_dead'
  label: string
  fallback: string // the server's default
  hint: string
  kind: 'duration' | 'number' | 'text'
  retry?: boolean // a field of retry in the API
}

export const taskSettings: readonly TaskSetting[] = [
  { key: 'timeout', label: 'Timeout', fallback: '15s', kind: 'duration', hint: 'the longest time of one attempt' },
  { key: 'expire_after', label: 'Expire after', fallback: 'never', kind: 'duration', hint: 'the task expires if no attempt starts within this time after its due time; 0s: never' },
  { key: 'max_attempts', label: 'Max attempts', fallback: 'no limit', kind: 'number', retry: true, hint: '0: no limit' },
  { key: 'min_backoff', label: 'Min backoff', fallback: '1s', kind: 'duration', retry: true, hint: 'the shortest wait between attempts' },
  { key: 'max_backoff', label: 'Max backoff', fallback: '1h', kind: 'duration', retry: true, hint: 'the longest wait between attempts' },
  { key: 'max_age', label: 'Max age', fallback: '24h', kind: 'duration', retry: true, hint: 'how long a task is retried, not counting downtime and pauses; 0s: no limit' },
  { key: 'on_dead', label: 'On dead', fallback: 'no call', kind: 'text', hint: 'a URL to call when a task dies' },
]

export const requestKeys = ['url', 'method', 'queue', 'priority', ...taskSettings.map((s) => s.key), 'headers', 'labels', 'work', 'kind', 'body'] as const

// A request has a url, or work: the kind of the task, which no form changes. The key kind
// is the kind of the body, or of the arguments.
export type RequestKey = (typeof requestKeys)[number]
export type RequestText = Record<RequestKey, string>
export type RequestErrors = Partial<Record<RequestKey, string>>
export type RequestSignals = Record<RequestKey, Signal<string>>

export function useRequest(initial: RequestText): RequestSignals {
  return useMemo(() => Object.fromEntries(requestKeys.map((key) => [key, signal(initial[key])])) as RequestSignals, [])
}

export function requestIn(r: RequestSignals): RequestText {
  return Object.fromEntries(requestKeys.map((key) => [key, r[key].value])) as RequestText
}

// requestKeyOf returns the field of a form for a field of a task in the API, such as
// retry.max_age.
export function requestKeyOf(field: string): RequestKey | undefined {
  const name = field.replace(/^(http|retry)\./, '').replace(/^body_base64|^work\.args/, 'body').split('.')[0]
  return requestKeys.find((key) => key === name)
}

// wrongIn returns the errors of a request that the page finds itself, before the user
// sends it or copies its command.
export function wrongIn(r: RequestText): RequestErrors {
  const out: RequestErrors = {}
  const set = (key: RequestKey, error: string | undefined) => error && (out[key] = error)
  if (r.url.trim() && !/^https?:\/\/./i.test(r.url.trim())) out.url = 'must begin with http:// or https://'
  for (const s of taskSettings) set(s.key, wrongSetting(s.kind, r[s.key]))
  set('headers', wrongPairs(r.headers, ':'))
  set('labels', wrongPairs(r.labels, '='))
  try {
    if (r.kind === 'json') JSON.parse(r.body)
  } catch (err) {
    out.body = `The body is not valid JSON: ${(err as Error).message}`
  }
  return out
}

// wrongSetting returns the error of the text of one setting, or undefined. An empty text
// is right: the setting is not set.
export function wrongSetting(kind: TaskSetting['kind'], text: string): string | undefined {
  if (kind === 'duration') return text.trim() ? wrongDuration(text) : undefined
  return kind === 'number' && !/^\d*$/.test(text.trim()) ? 'must be a whole number' : undefined
}
