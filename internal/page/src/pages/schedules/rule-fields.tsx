import { signal, type Signal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { Problem } from '../../api/openapi.gen'
import { ruleKeys, zoneOfRule, type RuleKey, type RuleText } from '../../format/rule'
import { zoneOf } from '../../format/time'
import { Field } from '../../parts/field'
import { TimeField } from '../../parts/time-field'

// The fields of a rule in a form.

export type RuleSignals = Record<RuleKey, Signal<string>>

export function useRule(initial: RuleText): RuleSignals {
  return useMemo(() => Object.fromEntries(ruleKeys.map((key) => [key, signal(initial[key] ?? '')])) as RuleSignals, [])
}

export function textIn(rule: RuleSignals): RuleText {
  return Object.fromEntries(ruleKeys.map((key) => [key, rule[key].value]))
}

const zones: string[] = typeof Intl.supportedValuesOf === 'function' ? ['UTC', ...Intl.supportedValuesOf('timeZone')] : ['UTC']

const rarelyUsed: RuleKey[] = ['start', 'end', 'jitter', 'max_runs', 'missed', 'catchup_window', 'catchup_limit', 'overlap', 'dst_gap', 'dst_overlap']

// RuleFields has the fields of a rule, each with its error. Those that few rules need are
// folded away until one of them has a value or an error.
export function RuleFields({ rule, problem }: { rule: RuleSignals; problem: Problem | null }) {
  const error = (key: RuleKey) => (problem?.field === key ? problem.detail + (problem.suggestion && !problem.detail.includes(problem.suggestion) ? ` Did you mean ${problem.suggestion}?` : '') : undefined)
  const interval = rule.every.value !== '' && rule.cron.value === ''
  const zone = zoneOfRule(textIn(rule))
  const clocks = `Clocks of ${zoneOf(zone) ?? 'your time zone'}.`
  const more = useMemo(() => rarelyUsed.some((key) => rule[key].peek()), [])
  return (
    <>
      <div class="form">
        <Field label="Expression (cron)" value={rule.cron} error={error('cron')} placeholder="0 9 * * MON-FRI" search hint="minute, hour, day of month, month, day of week; six fields begin with the second" />
        <Field label="Or interval (every)" value={rule.every} error={error('every')} placeholder="90m" hint="a duration of 1s or more, such as 90s or 1h30m" />
        <Field label="Time zone" value={rule.timezone} error={error('timezone')} placeholder="default (UTC)" list="zones" hint={interval ? 'An interval counts elapsed time: it needs no time zone.' : 'of the expression'} />
      </div>
      <datalist id="zones">{zones.map((z) => <option key={z} value={z} />)}</datalist>
      <details open={more || rarelyUsed.includes(problem?.field as RuleKey)}>
        <summary>Start and end, missed instants, clock changes, overlap</summary>
        <div class="form">
          <TimeField label="Start" value={rule.start} zone={zone} error={error('start')} hint={`No instant is earlier. An interval starts here. ${clocks}`} />
          <TimeField label="End" value={rule.end} zone={zone} error={error('end')} hint={`No instant is later. ${clocks}`} />
          <Field label="Max runs" value={rule.max_runs} error={error('max_runs')} placeholder="default (no limit)" hint="The schedule ends after this many instants with a task." />
          <Field label="Jitter" value={rule.jitter} error={error('jitter')} placeholder="default (none)" hint="Each task is due up to this much after its instant." />
          <Field label="Missed instants" value={rule.missed} error={error('missed')} options={[['', 'fire_once: only the latest creates a task'], ['skip', 'skip: none creates a task'], ['fire_all', 'fire_all: each creates a task, up to the limit']]} />
          <Field label="Catch-up window" value={rule.catchup_window} error={error('catchup_window')} placeholder="default (24h)" hint="Instants that were missed longer ago create no task." />
          <Field label="Catch-up limit" value={rule.catchup_limit} error={error('catchup_limit')} placeholder="default (100)" hint="for fire_all: at most this many tasks" />
          <Field label="While a task is unfinished (overlap)" value={rule.overlap} error={error('overlap')} options={[['', 'allow: an instant creates another'], ['skip', 'skip: an instant creates none'], ['buffer_one', 'buffer_one: one instant waits until the task has ended']]} />
          {!interval && <>
            <Field label="Missing time (dst_gap)" value={rule.dst_gap} error={error('dst_gap')} options={[['', 'next: creates a task when the gap ends'], ['skip', 'skip: creates none']]} />
            <Field label="Repeated time (dst_overlap)" value={rule.dst_overlap} error={error('dst_overlap')} options={[['', 'first: creates a task the first time'], ['both', 'both: creates a task both times']]} />
          </>}
        </div>
      </details>
    </>
  )
}
