import type { Schedule, ScheduledTask, ScheduleInput } from '../../api/openapi.gen'
import { member } from '../../format/json'
import { filled, pairLines, pairs } from '../../format/pairs'
import { flag, ruleFlags, ruleKeys, ruleOf, ruleTextOf, used, type RuleText } from '../../format/rule'
import { taskSettings, type RequestKey, type RequestText } from '../../parts/request-text'

// The request of a schedule's tasks in a form, and the schedule as a body and as a
// command.

export const newRequest: RequestText = {
  url: '', method: 'POST', queue: '', priority: 'normal', timeout: '', expire_after: '', max_attempts: '', min_backoff: '', max_backoff: '', max_age: '', on_dead: '', headers: '', labels: '', work: '', kind: 'none', body: '',
}

// requestOf returns the request of a schedule. The text of the reply has the body as
// it came.
export function requestOf(s: Schedule, reply: string): RequestText {
  const { http = { url: '' }, work, retry = {}, ...t } = s.task
  const kind = work ? (work.args === undefined ? 'none' : 'json') : http.body_base64 !== undefined ? 'base64' : http.body === undefined ? 'none' : typeof http.body === 'string' ? 'text' : 'json'
  const body = { base64: http.body_base64 ?? '', none: '', text: String(http.body), json: member(reply, 'task', 'http', 'body') ?? member(reply, 'task', 'work', 'args') ?? '' }[kind]
  return {
    url: http.url, method: http.method ?? 'POST', queue: t.queue ?? '', priority: t.priority ?? 'normal', timeout: t.timeout ?? '', expire_after: t.expire_after ?? '',
    max_attempts: String(retry.max_attempts ?? ''), min_backoff: retry.min_backoff ?? '', max_backoff: retry.max_backoff ?? '', max_age: retry.max_age ?? '',
    on_dead: t.on_dead ?? '', headers: pairLines(http.headers, ':'), labels: pairLines(t.labels, '='), work: work?.kind ?? '', kind, body,
  }
}

const mark = '\u0000body'

// bodyOf returns the JSON text of a PUT. A JSON body goes into it as the user
// wrote it.
export function bodyOf(rule: RuleText, r: RequestText, paused: boolean | undefined): ScheduleInput {
  const some = (text: string) => text.trim() || undefined
  const somePairs = (text: string, between: ':' | '=') => (text.trim() ? pairs(text, between) : undefined)
  const task: ScheduledTask = {
    work: r.work ? { kind: r.work, args: r.kind === 'json' ? mark : undefined } : undefined,
    http: r.work ? undefined : {
      url: r.url.trim(), method: r.method as 'POST', headers: somePairs(r.headers, ':'),
      body: r.kind === 'json' ? mark : r.kind === 'text' ? r.body : undefined, body_base64: r.kind === 'base64' ? r.body : undefined,
    },
    queue: some(r.queue), priority: r.priority as 'normal', timeout: some(r.timeout), expire_after: some(r.expire_after), on_dead: some(r.on_dead), labels: somePairs(r.labels, '='),
    retry: { max_attempts: r.max_attempts.trim() ? Number(r.max_attempts) : undefined, min_backoff: some(r.min_backoff), max_backoff: some(r.max_backoff), max_age: some(r.max_age) },
  }
  const text = JSON.stringify({ ...ruleOf(rule), paused, task })
  return text.replace(JSON.stringify(mark), () => r.body) as unknown as ScheduleInput
}

const requestFlags = ['queue', 'priority', ...taskSettings.map((s) => s.key)] as const

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
  const removed = (k: 'headers' | 'labels', between: ':' | '=') => Object.keys(pairs(before[k], between)).some((name) => !Object.hasOwn(pairs(r[k], between), name))
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
  const body = r.kind === 'json' ? [flag(r.work ? 'args' : 'json', r.body)] : r.kind === 'text' ? [flag('data', r.body)] : []
  return [...each('header', r.headers), ...each('label', r.labels), ...body]
}
