import type { ClockChange, Instant } from '../../api/openapi.gen'
import { zoneName } from '../../format/time'
import { localText } from '../../format/wall'
import { Empty } from '../../parts/notice'
import { Panel } from '../../parts/panel'
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

// ClockChanges lists the days of the next year on which a time of the rule is missing or
// repeated. An interval counts elapsed time, so it has no such days.
export function ClockChanges({ of, zone }: { of: ClockChange[]; zone: string }) {
  return (
    <Panel title="Clock changes" aside={zone}>
      {of.length === 0
        ? <p class="dim">In the next year, no clock change removes or repeats a time of this rule.</p>
        : <ul class="plain">{of.map((c) => <li key={c.at}><Badge tone="warn">{c.repeats ? 'repeated' : 'missing'}</Badge> {c.words}.</li>)}</ul>}
    </Panel>
  )
}
