import type { Schedule, ScheduleInput } from '../../api/openapi.gen'
import { member } from '../../format/json'
import { pairLines, pairs } from '../../format/pairs'
import { flag, ruleFlags, ruleKeys, ruleOf, ruleTextOf, used, type RuleText } from '../../format/rule'
import { bodyWith, newFlags, onlyFromFile, payloadFlags, requestFlags } from '../../parts/request-body'
import type { RequestKey, RequestText } from '../../parts/request-text'

// The request of a schedule's tasks in a form, and the schedule as a body and as a
// command.

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

// bodyOf returns the JSON text of a PUT.
export function bodyOf(rule: RuleText, r: RequestText, paused: boolean | undefined): ScheduleInput {
  return bodyWith(r, (task) => ({ ...ruleOf(rule), paused, task }))
}

// addCommand returns the arguments that create a schedule, or null if the body needs a
// file.
export function addCommand(name: string, rule: RuleText, r: RequestText, paused: boolean): string[] | null {
  if (onlyFromFile(r)) return null
  return [
    'cron', 'add', name, ...(rule.cron?.trim() ? [rule.cron.trim()] : []), r.url.trim(), ...ruleFlags(rule), ...newFlags(r), ...(paused ? ['--paused'] : []),
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
