import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { url } from '../../api/call'
import { previewRule, putSchedule, type RulePreview } from '../../api/openapi.gen'
import { commandLine, foliot, plainJSON, quote, withToken } from '../../format/command'
import { fromQuery, ruleFlags, ruleKeys, ruleOf, used, zoneOfRule, type RuleText } from '../../format/rule'
import { wall } from '../../format/wall'
import { Command } from '../../parts/command'
import { ActionButton } from '../../parts/action'
import { ProblemNote } from '../../parts/notice'
import { Head, Panel } from '../../parts/panel'
import { DowntimePanel } from './downtime'
import { RuleFields, textIn, useRule, type RuleSignals } from './rule-fields'
import { ClockChanges, Instants } from './instants'
import { sentence } from './rule-text'
import { Year } from './year'
import { go, link, route, setQuery } from '../../state/route'
import { useLatest, useSettled } from '../../state/latest'
import { me, serverNow } from '../../state/session'

const initial: RuleText = { cron: '0 9 * * MON-FRI', timezone: Intl.DateTimeFormat().resolvedOptions().timeZone }

const examples: [string, RuleText][] = [
  ['Every weekday at 09:00', { cron: '0 9 * * MON-FRI', timezone: 'Europe/Berlin' }],
  ['Every night at 02:30', { cron: '30 2 * * *', timezone: 'Europe/Berlin' }],
  ['Last day of the month', { cron: '0 18 L * *', timezone: 'America/New_York' }],
  ['Last Friday of the month', { cron: '0 16 * * FRIL', timezone: 'Europe/London' }],
  ['Second Monday of the month', { cron: '0 9 * * MON#2', timezone: 'Asia/Tokyo' }],
  ['Every quarter of an hour', { cron: '*/15 * * * *' }],
  ['Every 90 minutes', { every: '90m' }],
  ['Every 5 seconds', { every: '5s', overlap: 'skip' }],
  ['First day of each quarter', { cron: '0 6 1 JAN,APR,JUL,OCT *' }],
  ['Midnight that a clock change removes', { cron: '30 0 * * *', timezone: 'Africa/Cairo', dst_overlap: 'both' }],
]

interface Simulation extends RulePreview {
  first: string // the first day
  zone: string
  rule: RuleText
}

// Simulator shows what a rule does before it is a schedule. The rule is in the
// address of the page.
export function Simulator(_: { name: string }) {
  const rule = useRule(start())
  const downtime = { from: useSignal(route.value.query.get('absent_from') ?? ''), until: useSignal(route.value.query.get('absent_until') ?? '') }
  const query = useAddress(rule, downtime)
  const sent = JSON.parse(query) as RuleText & { absent_from?: string; absent_until?: string }
  const empty = used(sent).length === 0
  const { value, problem } = useLatest(empty ? null : (signal) => simulate(sent, signal), [query])
  const stale = problem || empty
  const atField = problem?.field && [...ruleKeys, 'absent_from', 'absent_until'].includes(problem.field as never)
  return (
    <>
      <Head title="Simulator" about="Try a rule before it is a schedule. Nothing is stored. The address of this page contains the rule, so you can share it.">
        <SaveButton text={textIn(rule)} off={stale ? 'Correct the rule first.' : ''} />
      </Head>
      <div class="examples" role="group" aria-label="Examples">
        {examples.map(([title, e]) => <a key={title} class="button" href={link('simulator', '', e as Record<string, string>)}>{title}</a>)}
      </div>
      <Panel title="Rule">
        <RuleFields rule={rule} problem={problem} />
        {problem && !atField && <ProblemNote problem={problem} />}
        {empty && <p class="dim">Enter an expression or an interval, or select an example.</p>}
        {value && <p class={'sentence' + (stale ? ' stale' : '')} aria-live="polite">{sentence(value.words, value.rule)}</p>}
        {stale && value && <p class="dim">The rest of this page shows the last rule without an error.</p>}
        {!stale && value && <Command text={command(value.rule)} />}
      </Panel>
      {value && (
        <div class={'grid' + (stale ? ' stale' : '')}>
          <Panel title="Next 12 months" wide><Year first={value.first} counts={value.days ?? []} changes={value.clock_changes} zone={value.zone} /></Panel>
          <Panel title="Next instants">
            <Instants caption="Table of the next instants" of={value.instants} zone={value.zone} />
            {value.rule.jitter && <p class="dim">Each task is due up to {value.rule.jitter} after its instant.</p>}
          </Panel>
          <div class="stack">
            {value.rule.cron?.trim() && <ClockChanges of={value.clock_changes} zone={value.zone} />}
            <DowntimePanel downtime={downtime} zone={value.zone} effect={value.absence} problem={problem} />
          </div>
        </div>
      )}
    </>
  )
}

function start(): RuleText {
  const q = route.value.query
  return q.has('cron') || q.has('every') ? fromQuery(q) : initial
}

// useAddress keeps the address of the page and the fields equal, and returns the
// rule that has not changed for a moment. An example or a link changes the address;
// typing changes the fields.
function useAddress(rule: RuleSignals, downtime: { from: { value: string }; until: { value: string } }): string {
  const all = { ...textIn(rule), absent_from: downtime.from.value, absent_until: downtime.until.value }
  const settled = useSettled(JSON.stringify(all))
  useEffect(() => {
    const wanted = JSON.parse(settled) as Record<string, string>
    const { query } = route.peek()
    if (Object.entries(wanted).some(([key, value]) => (query.get(key) ?? '') !== value)) setQuery(wanted)
  }, [settled])
  useEffect(() => {
    const changed = () => {
      const q = route.peek().query
      if (route.peek().page !== 'simulator') return
      for (const key of ruleKeys) rule[key].value = q.get(key) ?? ''
      downtime.from.value = q.get('absent_from') ?? ''
      downtime.until.value = q.get('absent_until') ?? ''
    }
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  return settled
}

async function simulate(text: RuleText & { absent_from?: string; absent_until?: string }, signal: AbortSignal): Promise<Simulation> {
  const zone = zoneOfRule(text)
  const now = serverNow()
  const downtime = text.absent_from && text.absent_until ? { absent_from: text.absent_from, absent_until: text.absent_until } : {}
  const reply = await previewRule({ limit: 12, from: new Date(now).toISOString(), days: 366, ...downtime }, ruleOf(text), signal)
  return { ...reply, first: wall(now, zone).slice(0, 10), zone, rule: text }
}

// command returns the command for a rule. foliot cron preview takes no interval, start or
// end, so for these the command calls the API.
function command(text: RuleText): string {
  if (text.cron?.trim() && !text.start && !text.end) return foliot('cron', 'preview', text.cron, ...ruleFlags(text).filter((f) => /^--(timezone|dst)/.test(f)))
  return commandLine([me.value?.secured ? withToken : 'curl', '--json', quote(plainJSON(JSON.stringify(ruleOf(text)))), quote(url('v1/schedules/preview'))])
}

function SaveButton({ text, off }: { text: RuleText; off: string }) {
  return <ActionButton label="Save as schedule" call={putSchedule} off={off} style="primary" open={() => go('schedules', '', { new: '1', ...Object.fromEntries(used(text)) })} />
}
