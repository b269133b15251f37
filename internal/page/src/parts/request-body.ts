import type { ScheduledTask } from '../api/openapi.gen'
import { flag } from '../format/rule'
import { filled, pairs } from '../format/pairs'
import { taskSettings, type RequestText } from './request-text'

// The request of a task in a form, as a body and as flags of foliot.

export const newRequest: RequestText = {
  url: '', method: 'POST', queue: '', priority: 'normal', timeout: '', expire_after: '', max_attempts: '', min_backoff: '', max_backoff: '', max_age: '', on_dead: '', headers: '', labels: '', work: '', kind: 'none', body: '',
}

export const newBodies = [['none', 'none'], ['json', 'JSON'], ['text', 'text'], ['base64', 'bytes in base64']] as const

// marked stands in a body of a call for the JSON text of a form.
export const marked = '\u0000body'

// withBody returns value as JSON, with text in place of marked: as the user wrote it, because
// JSON.parse rounds large numbers.
export function withBody<T>(value: T, text: string, indent = 0): T {
  return JSON.stringify(value, null, indent).replace(JSON.stringify(marked), () => text) as unknown as T
}

// bodyWith returns the JSON text of a body that make returns for a task.
export function bodyWith<T>(r: RequestText, make: (task: ScheduledTask) => T): T {
  const some = (text: string) => text.trim() || undefined
  const somePairs = (text: string, between: ':' | '=') => (text.trim() ? pairs(text, between) : undefined)
  return withBody(make({
    work: r.work ? { kind: r.work.trim(), args: r.kind === 'json' ? marked : undefined } : undefined,
    http: r.work ? undefined : {
      url: r.url.trim(), method: r.method as 'POST', headers: somePairs(r.headers, ':'),
      body: r.kind === 'json' ? marked : r.kind === 'text' ? r.body : undefined, body_base64: r.kind === 'base64' ? r.body : undefined,
    },
    queue: some(r.queue), priority: r.priority as 'normal', timeout: some(r.timeout), expire_after: some(r.expire_after), on_dead: some(r.on_dead), labels: somePairs(r.labels, '='),
    retry: { max_attempts: r.max_attempts.trim() ? Number(r.max_attempts) : undefined, min_backoff: some(r.min_backoff), max_backoff: some(r.max_backoff), max_age: some(r.max_age) },
  }), r.body)
}

export const requestFlags = ['queue', 'priority', ...taskSettings.map((s) => s.key)] as const

// onlyFromFile reports whether foliot reads such a body only from a file: bytes, and text
// that looks like the name of one.
export function onlyFromFile(r: RequestText): boolean {
  return r.kind === 'base64' || (r.kind === 'text' && r.body.startsWith('@'))
}

// newFlags returns the flags of a new request, without its URL or kind.
export function newFlags(r: RequestText): string[] {
  return [
    ...(r.method === 'POST' || r.work ? [] : [flag('method', r.method)]),
    ...requestFlags.filter((k) => r[k].trim() !== newRequest[k]).map((k) => flag(k, r[k].trim())),
    ...payloadFlags(r),
  ]
}

export function payloadFlags(r: RequestText): string[] {
  const each = (name: string, text: string) => filled(text).map((l) => flag(name, l))
  const body = r.kind === 'json' ? [flag(r.work ? 'args' : 'json', r.body)] : r.kind === 'text' ? [flag('data', r.body)] : []
  return [...each('header', r.headers), ...each('label', r.labels), ...body]
}
