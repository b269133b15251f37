import { signal, type Signal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { Refusal } from '../../api/call'
import type { Schedule, ScheduledTask, ScheduleInput } from '../../api/openapi.gen'
import { member } from '../../format/raw'
import { flag, plain, ruleFlags, ruleKeys, ruleOf, textOf, used, type RuleText } from '../../format/rule'

// The request of a schedule's tasks in a form, and the schedule as a body and as a
// command.

export const requestKeys = [
  'url', 'method', 'queue', 'priority', 'timeout', 'expire_after', 'max_attempts', 'min_backoff', 'max_backoff', 'max_age', 'on_dead', 'headers', 'labels', 'kind', 'body',
] as const

export type RequestKey = (typeof requestKeys)[number]
export type RequestText = Record<RequestKey, string>
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

// pairs reads lines of names and values. A line without a separator throws.
function pairs(text: string, between: string, what: string): Record<string, string> | undefined {
  const out: Record<string, string> = {}
  for (const line of text.split('\n').filter((l) => l.trim())) {
    const i = line.indexOf(between)
    if (i < 1) throw refusal(`${what} "${line}" must have the form name${between}value`)
    out[line.slice(0, i).trim()] = line.slice(i + 1).trim()
  }
  return Object.keys(out).length ? out : undefined
}

function refusal(detail: string): Refusal {
  return new Refusal({ type: 'about:blank', title: 'Not sent.', status: 0, code: 'internal', detail })
}

const mark = '\u0000body'

// bodyOf returns the JSON text of a PUT. A JSON body goes into it as the visitor
// wrote it.
export function bodyOf(rule: RuleText, r: RequestText, paused: boolean | undefined): ScheduleInput {
  if (r.kind === 'json') {
    try {
      JSON.parse(r.body)
    } catch (err) {
      throw refusal(`The body is not JSON: ${(err as Error).message}`)
    }
  }
  const some = (text: string) => text.trim() || undefined
  const task: ScheduledTask = {
    http: {
      url: r.url.trim(), method: r.method as 'POST', headers: pairs(r.headers, ':', 'header'),
      body: r.kind === 'json' ? mark : r.kind === 'text' ? r.body : undefined, body_base64: r.kind === 'base64' ? r.body : undefined,
    },
    queue: some(r.queue), priority: r.priority as 'normal', timeout: some(r.timeout), expire_after: some(r.expire_after), on_dead: some(r.on_dead), labels: pairs(r.labels, '=', 'label'),
    retry: { max_attempts: /^\d+$/.test(r.max_attempts.trim()) ? Number(r.max_attempts) : (some(r.max_attempts) as undefined), min_backoff: some(r.min_backoff), max_backoff: some(r.max_backoff), max_age: some(r.max_age) },
  }
  const text = JSON.stringify({ ...ruleOf(rule), paused, task })
  return text.replace(JSON.stringify(mark), () => r.body) as unknown as ScheduleInput
}

const requestFlags = ['queue', 'priority', 'timeout', 'expire_after', 'max_attempts', 'min_backoff', 'max_backoff', 'max_age', 'on_dead'] as const

// addCommand returns the arguments that create a schedule.
export function addCommand(name: string, rule: RuleText, r: RequestText, paused: boolean): string[] {
  return [
    'cron', 'add', name || 'NAME', ...(rule.cron?.trim() ? [rule.cron.trim()] : []), r.url || 'URL', ...ruleFlags(rule),
    ...(r.method === 'POST' ? [] : [flag('method', r.method)]),
    ...requestFlags.filter((k) => r[k].trim() !== newRequest[k]).map((k) => flag(k, r[k].trim())),
    ...payloadFlags(r), ...(paused ? ['--paused'] : []),
  ]
}

// setCommand returns the arguments that change only the different fields.
export function setCommand(s: Schedule, before: RequestText, rule: RuleText, r: RequestText): string[] {
  const old = Object.fromEntries(used(textOf(s)))
  const next = Object.fromEntries(used(rule))
  const changed = ruleKeys.filter((k) => k !== 'anchor' && (old[k] ?? '') !== (next[k] ?? '') && !((k === 'cron' || k === 'every') && !next[k]))
  const differs = (k: RequestKey) => before[k].trim() !== r[k].trim()
  return [
    'cron', 'set', s.name, ...changed.map((k) => flag(k, next[k] ?? '')),
    ...(['url', 'method', ...requestFlags] as const).filter(differs).map((k) => flag(k, r[k].trim())),
    ...payloadFlags({ ...r, headers: differs('headers') ? r.headers : '', labels: differs('labels') ? r.labels : '', kind: differs('body') || differs('kind') ? r.kind : '' }),
  ]
}

function payloadFlags(r: RequestText): string[] {
  const each = (name: string, text: string) => text.split('\n').filter((l) => l.trim()).map((l) => flag(name, l.trim()))
  const body = r.kind === 'json' ? [flag('json', r.body)] : r.kind === 'text' ? [flag('data', r.body)] : []
  return [...each('header', r.headers), ...each('label', r.labels), ...body]
}
