import { plural } from '../../../format/number'
import { span } from '../../../format/time'
import { shade, slots, total, type Ring } from './model'

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

// SlotTable has the counts of all slots that are not empty.
export function SlotTable({ rings, at, time }: { rings: Ring[]; at: string; time: (at: number) => string }) {
  const rows = rings.flatMap((ring, n) => ring.counts.slice(0, slots).map((amount, i) => ({ n, amount, held: ring.held[i] ?? 0, from: ring.from + i * ring.slot, until: ring.from + (i + 1) * ring.slot }))).filter((r) => r.amount > 0)
  return (
    <details class="slot-counts" data-time={at}>
      <summary>The counts of the slots as a table</summary>
      <div class="table" tabIndex={0} role="region" aria-label="Counts of the slots">
        <table>
          <caption class="sr">Counts of the slots</caption>
          <thead><tr><th scope="col">Ring</th><th scope="col">From</th><th scope="col">Until</th><th scope="col" class="number">Tasks</th><th scope="col" class="number">Held</th></tr></thead>
          <tbody>{rows.map((r) => <tr key={`${r.n} ${r.from}`}><td data-title="Ring">{r.n + 1}</td><td data-title="From"><time dateTime={new Date(r.from).toISOString()}>{time(r.from)}</time></td><td data-title="Until"><time dateTime={new Date(r.until).toISOString()}>{time(r.until)}</time></td><td data-title="Tasks" class="number">{r.amount}</td><td data-title="Held" class="number">{r.held || ''}</td></tr>)}</tbody>
        </table>
      </div>
    </details>
  )
}
