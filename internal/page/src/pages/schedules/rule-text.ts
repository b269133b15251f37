import type { Schedule, SkippedInstants } from '../../api/openapi.gen'
import { count } from '../../format/number'
import { zoneOfRule, type RuleText } from '../../format/rule'

// The settings of a schedule as sentences.

// sentence returns when a rule creates tasks, with the time zone of its clocks.
export function sentence(words: string, rule: Pick<RuleText, 'cron' | 'timezone'>): string {
  return `Creates a task ${words}${rule.cron?.trim() ? ', ' + zoneOfRule(rule) : ''}.`
}

const reasons: Record<SkippedInstants['why'], string> = {
  missed: 'missed: the setting missed is skip, or it is fire_once and a later instant was missed too',
  catchup_window: 'missed longer ago than the catch-up window',
  catchup_limit: 'missed: over the catch-up limit',
  quota: 'a quota of the namespace was used up',
  overlap: 'a task of the schedule was unfinished',
}

export function reasonToSkip(s: SkippedInstants): string {
  return reasons[s.why] ?? s.why
}

export function missedWords(s: Schedule): string {
  const within = `of the last ${s.catchup_window}`
  if (s.missed === 'skip') return 'none creates a task'
  return s.missed === 'fire_all' ? `each ${within} creates a task, at most ${count(s.catchup_limit)}` : `the latest ${within} creates a task`
}

export const overlapWords: Record<Schedule['overlap'], string> = {
  allow: 'an instant creates another task',
  skip: 'an instant creates no task',
  buffer_one: 'one instant waits until the task has ended',
}
