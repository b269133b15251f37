import type { Schedule, ScheduleRule } from '../api/openapi.gen'

// A rule as text: the fields of a form, of the address of the page, of a request
// and of a command have the same names.

export const ruleKeys = [
  'cron', 'every', 'timezone', 'dst_gap', 'dst_overlap', 'start', 'end', 'jitter',
  'max_runs', 'missed', 'catchup_window', 'catchup_limit', 'overlap', 'anchor',
] as const

export type RuleKey = (typeof ruleKeys)[number]
export type RuleText = Partial<Record<RuleKey, string>>

const numbers: readonly RuleKey[] = ['max_runs', 'catchup_limit']
const cronOnly: readonly RuleKey[] = ['cron', 'timezone', 'dst_gap', 'dst_overlap']

// used returns the fields that apply. An interval ignores the fields for time zones.
export function used(text: RuleText): [RuleKey, string][] {
  const out: [RuleKey, string][] = []
  for (const key of ruleKeys) {
    const value = text[key]?.trim()
    if (value && !(text.every?.trim() && !text.cron?.trim() && cronOnly.includes(key))) out.push([key, value])
  }
  return out
}

// ruleOf returns the rule for a request. A value that is not a number stays text: the
// server refuses it with the name of the field.
export function ruleOf(text: RuleText): ScheduleRule {
  const out: Record<string, string | number> = {}
  for (const [key, value] of used(text)) out[key] = numbers.includes(key) && /^-?\d+$/.test(value) ? Number(value) : value
  return out as ScheduleRule
}

// fromQuery returns the rule in the address of the page.
export function fromQuery(query: URLSearchParams): RuleText {
  return Object.fromEntries(ruleKeys.map((key) => [key, query.get(key) ?? '']))
}

const defaults: RuleText = {
  timezone: 'UTC', dst_gap: 'next', dst_overlap: 'first', missed: 'fire_once', catchup_window: '24h', catchup_limit: '100', overlap: 'allow', max_runs: '0',
}

// ruleTextOf returns the rule of a schedule without its defaults.
export function ruleTextOf(s: Schedule): RuleText {
  const out: RuleText = {}
  for (const key of ruleKeys) {
    const value = s[key]
    if (value !== undefined && String(value) !== defaults[key] && !(key === 'anchor' && s.start)) out[key] = String(value)
  }
  return out
}

// ruleFlags returns a rule as flags of foliot cron add. The expression is an
// argument, and the anchor has no flag.
export function ruleFlags(text: RuleText): string[] {
  return used(text).filter(([key]) => key !== 'cron' && key !== 'anchor').map(([key, value]) => flag(key, value))
}

export function flag(key: string, value: string): string {
  return `--${key.replaceAll('_', '-')}=${value}`
}

// zoneOfRule returns the time zone of a rule.
export function zoneOfRule(text: { timezone?: string; cron?: string }): string {
  return (text.cron && text.timezone?.trim()) || 'UTC'
}
