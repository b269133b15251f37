import { plural } from '../../../format/number'
import { full, span } from '../../../format/time'
import { Table, type Column } from '../../../parts/table'
import { shade, slotAt, slots, total, type Ring, type Slot } from './model'

// Bars shows the rings as rows of bars, without motion.
export function Bars({ rings }: { rings: Ring[] }) {
  return (
    <div class="bars">
      {rings.map((ring, n) => {
        const most = Math.max(...ring.counts, 1)
        return (
          <figure key={n}>
            <figcaption>The next {span(ring.slot * slots)}: {plural(total(ring), 'task')}</figcaption>
            <svg viewBox="0 0 640 40" preserveAspectRatio="none" aria-hidden="true">
              {ring.counts.slice(0, slots).map((amount, i) => amount > 0 && <rect key={i} class="slot near" x={i * 10 + 1} width="8" y={40 - 40 * shade(amount, most)} height={40 * shade(amount, most)} />)}
            </svg>
          </figure>
        )
      })}
    </div>
  )
}

interface Row extends Slot {
  ring: number
}

// clock shows a time that does not change, unlike Time.
const clock = (at: number) => <time dateTime={new Date(at).toISOString()}>{full(at)}</time>

const columns: Column<Row>[] = [
  { title: 'Ring', cell: (r) => r.ring },
  { title: 'From', cell: (r) => clock(r.from) },
  { title: 'Until', cell: (r) => clock(r.until) },
  { title: 'Tasks', number: true, cell: (r) => r.count },
  { title: 'Held', number: true, cell: (r) => r.held || '' },
]

// SlotTable has the counts of all slots that are not empty.
export function SlotTable({ rings, at }: { rings: Ring[]; at: string }) {
  const rows = rings.flatMap((ring, n) => Array.from({ length: slots }, (_, i): Row => ({ ring: n + 1, ...slotAt(ring, i) }))).filter((r) => r.count > 0)
  return (
    <details class="slot-counts" data-time={at}>
      <summary>The counts of the slots as a table</summary>
      <Table caption="Counts of the slots" rows={rows} columns={columns} id={(r) => `${r.ring} ${r.from}`} keys={false} />
    </details>
  )
}
