import { signal, type Signal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { Schedule, ScheduledTask, ScheduleInput } from '../../api/openapi.gen'
import { member } from '../../format/json'
import { flag, plain, ruleFlags, ruleKeys, ruleOf, ruleTextOf, used, type RuleText } from '../../format/rule'

// The request of a schedule's tasks in a form, and the schedule as a body and as a
// command.

export const requestKeys = [
  'url', 'method', 'queue', 'priority', 'timeout', 'expire_after', 'max_attempts', 'min_backoff', 'max_backoff', 'max_age', 'on_dead', 'headers', 'labels', 'kind', 'body',
] as const

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

export const newRequest: RequestText = {
  url: '', method: 'POST', queue: '', priority: 'normal', timeout: '', expire_after: '', max_attempts: '', min_backoff: '', max_backoff: '', max_age: '', on_dead: '', headers: '', labels: '', kind: 'none', body: '',
}

// requestOf returns the request of a schedule. The text of the reply has the body as
// it came.
export function requestOf(s: Schedule, reply: string): RequestText {
  const { http, retry = {}, ...t } = s.task
  const kind = http.body_base64 !== undefined ? 'base64' : http.body === undefined ? 'none' : typeof http.body === 'string' ? 'text' : 'json'
  const body = { base64: http.body_base64 ?? '', none: '', text: String(http.body), json: member(reply, 'task', 'http', 'body') ?? '' }[kind]
  return {
    url: http.url, method: http.method ?? 'POST', queue: t.queue ?? '', priority: t.priority ?? 'normal', timeout: plain(t.timeout ?? ''), expire_after: plain(t.expire_after ?? ''),
    max_attempts: String(retry.max_attempts ?? ''), min_backoff: plain(retry.min_backoff ?? ''), max_backoff: plain(retry.max_backoff ?? ''), max_age: plain(retry.max_age ?? ''),
    on_dead: t.on_dead ?? '', headers: lines(http.headers, ': '), labels: lines(t.labels, '='), kind, body,
  }
}

function lines(pairs: Record<string, string> | undefined, between: string): string {
  return Object.entries(pairs ?? {}).map(([k, v]) => k + between + v).join('\n')
}

const durations = ['timeout', 'expire_after', 'min_backoff', 'max_backoff', 'max_age'] as const

// wrongIn returns the errors of a request that the page finds itself, before the user
// sends it or copies its command.
export function wrongIn(r: RequestText): RequestErrors {
  const out: RequestErrors = {}
  if (r.url.trim() && !/^https?:\/\/./i.test(r.url.trim())) out.url = 'must begin with http:// or https://'
  for (const key of durations) if (!/^(0|([\d.]+(ns|us|µs|ms|s|m|h))*)$/.test(r[key].trim())) out[key] = 'must be a duration, such as 90s or 1h30m'
  if (filled(r.headers).some((l) => l.indexOf(':') < 1)) out.headers = 'Each line must have the form name: value.'
  if (filled(r.labels).some((l) => l.indexOf('=') < 1)) out.labels = 'Each line must have the form key=value.'
  if (r.max_attempts.trim() && !/^\d+$/.test(r.max_attempts.trim())) out.max_attempts = 'must be a whole number'
  try {
    if (r.kind === 'json') JSON.parse(r.body)
  } catch (err) {
    out.body = `The body is not valid JSON: ${(err as Error).message}`
  }
  return out
}

function filled(text: string): string[] {
  return text.split('\n').map((l) => l.trim()).filter(Boolean)
}

// pairs reads lines of names and values.
function pairs(text: string, between: string): Record<string, string> | undefined {
  const list = filled(text).map((line) => {
    const i = line.indexOf(between)
    return [line.slice(0, i).trim(), line.slice(i + 1).trim()]
  })
  return list.length ? Object.fromEntries(list) : undefined
}

const mark = '\u0000body'

// bodyOf returns the JSON text of a PUT. A JSON body goes into it as the user
// wrote it.
export function bodyOf(rule: RuleText, r: RequestText, paused: boolean | undefined): ScheduleInput {
  const some = (text: string) => text.trim() || undefined
  const task: ScheduledTask = {
    http: {
      url: r.url.trim(), method: r.method as 'POST', headers: pairs(r.headers, ':'),
      body: r.kind === 'json' ? mark : r.kind === 'text' ? r.body : undefined, body_base64: r.kind === 'base64' ? r.body : undefined,
    },
    queue: some(r.queue), priority: r.priority as 'normal', timeout: some(r.timeout), expire_after: some(r.expire_after), on_dead: some(r.on_dead), labels: pairs(r.labels, '='),
    retry: { max_attempts: r.max_attempts.trim() ? Number(r.max_attempts) : undefined, min_backoff: some(r.min_backoff), max_backoff: some(r.max_backoff), max_age: some(r.max_age) },
  }
  const text = JSON.stringify({ ...ruleOf(rule), paused, task })
  return text.replace(JSON.stringify(mark), () => r.body) as unknown as ScheduleInput
}

const requestFlags = ['queue', 'priority', 'timeout', 'expire_after', 'max_attempts', 'min_backoff', 'max_backoff', 'max_age', 'on_dead'] as const

// onlyFromFile reports whether foliot reads such a body only from a file: bytes, and text
// that looks like the name of one.
function onlyFromFile(r: RequestText): boolean {
  return r.kind === 'base64' || (r.kind === 'text' && r.body.startsWith('@'))
}

// addCommand returns the arguments that create a schedule, or null if the body needs a
// file.
export function addCommand(name: string, rule: RuleText, r: RequestText, paused: boolean): string[] | null {
  if (onlyFromFile(r)) return null
  return [
    'cron', 'add', name, ...(rule.cron?.trim() ? [rule.cron.trim()] : []), r.url.trim(), ...ruleFlags(rule),
    ...(r.method === 'POST' ? [] : [flag('method', r.method)]),
    ...requestFlags.filter((k) => r[k].trim() !== newRequest[k]).map((k) => flag(k, r[k].trim())),
    ...payloadFlags(r), ...(paused ? ['--paused'] : []),
  ]
}

// setCommand returns the arguments that change only the different fields, or null if
// there are none, or foliot cannot: it adds headers and labels, but removes none.
export function setCommand(s: Schedule, before: RequestText, rule: RuleText, r: RequestText): string[] | null {
  const old = Object.fromEntries(used(ruleTextOf(s)))
  const next = Object.fromEntries(used(rule))
  const changed = ruleKeys.filter((k) => k !== 'anchor' && (old[k] ?? '') !== (next[k] ?? '') && !((k === 'cron' || k === 'every') && !next[k]))
  const differs = (k: RequestKey) => before[k].trim() !== r[k].trim()
  const removed = (k: 'headers' | 'labels', between: string) => Object.keys(pairs(before[k], between) ?? {}).some((name) => !Object.hasOwn(pairs(r[k], between) ?? {}, name))
  const body = differs('body') || differs('kind')
  if (removed('headers', ':') || removed('labels', '=') || (body && (r.kind === 'none' || onlyFromFile(r)))) return null
  const flags = [
    ...changed.map((k) => flag(k, next[k] ?? '')),
    ...(['url', 'method', ...requestFlags] as const).filter(differs).map((k) => flag(k, r[k].trim())),
    ...payloadFlags({ ...r, headers: differs('headers') ? r.headers : '', labels: differs('labels') ? r.labels : '', kind: body ? r.kind : '' }),
  ]
  return flags.length ? ['cron', 'set', s.name, ...flags] : null
}

function payloadFlags(r: RequestText): string[] {
  const each = (name: string, text: string) => filled(text).map((l) => flag(name, l))
  const body = r.kind === 'json' ? [flag('json', r.body)] : r.kind === 'text' ? [flag('data', r.body)] : []
  return [...each('header', r.headers), ...each('label', r.labels), ...body]
}
