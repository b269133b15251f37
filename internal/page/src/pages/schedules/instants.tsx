import type { ClockChange, Instant } from '../../api/openapi.gen'
import { zoneName } from '../../format/time'
import { localText } from '../../format/wall'
import { Empty } from '../../parts/notice'
import { Table, type Column } from '../../parts/table'
import { Time } from '../../parts/time'
import { Badge } from '../../parts/badge'

// Instants lists instants in the zone of their rule and in UTC.
export function Instants({ of, zone, caption }: { of: Instant[]; zone: string; caption: string }) {
  const columns: Column<Instant>[] = [
    { title: `In ${zone}`, cell: (i) => <span class="mono">{localText(i.local)}</span> },
    ...(zone === 'UTC' && zoneName() !== 'UTC' ? [{ title: `In ${zoneName()}`, cell: (i: Instant) => <span class="mono"><Time at={i.at} mode="full" /></span> }] : []),
    ...(zone === 'UTC' ? [] : [{ title: 'In UTC', cell: (i: Instant) => <span class="mono">{i.at.slice(0, 19).replace('T', ' ')}</span> }]),
    { title: 'From now', cell: (i) => <Time at={i.at} zone={zone} mode="relative" /> },
  ]
  return <Table caption={caption} rows={of} columns={columns} id={(i) => i.at} keys={false} empty={<Empty title="The rule has no instant from now on." />} />
}

// HardDays lists the days on which the clocks skip or repeat a time of the rule.
export function HardDays({ of, interval, until }: { of: ClockChange[]; interval?: boolean; until: string }) {
  if (interval) return <p class="dim">An interval counts elapsed time, so clock changes do not affect it.</p>
  if (of.length === 0) return <p class="dim">{until}, no clock change skips or repeats a time of this rule.</p>
  return (
    <ul class="hard">
      {of.map((c) => <li key={c.at}><Badge tone="warn">{c.repeats ? 'twice' : 'skipped'}</Badge> <span>{c.words}.</span></li>)}
    </ul>
  )
}

export const reasonsToSkip: Record<string, string> = {
  misfire: 'missed, and misfire lets none or only the latest create a task',
  catchup_window: 'missed longer ago than the catch-up window',
  catchup_limit: 'more missed instants than the catch-up limit',
  quota: 'a quota of the namespace was used up',
  overlap: 'a task of the schedule was unfinished',
}
