import type { History } from '../../../api/openapi.gen'
import { count, plural } from '../../../format/number'
import { millis, parts, span } from '../../../format/time'
import { Table, type Column } from '../../../parts/table'

const columns = 360

// Heatmap shows the lateness of the attempts of an hour: a column for each step of
// ten seconds, a row for each range of lateness. Below it are the attempts whose
// task was lost to another attempt, so that it was sent again.
export function Heatmap({ history, now }: { history: History; now: number }) {
  const step = millis(history.step)
  const start = Math.floor(now / step) * step - (columns - 1) * step
  const bounds = history.late_bounds_ms
  const rows = bounds.length + 1
  const most = Math.max(1, ...history.steps.flatMap((s) => s.late))
  const column = (at: string) => Math.round((Date.parse(at) - start) / step)
  const duplicates = history.steps.filter((s) => s.lost_leases)
  return (
    <div class="heat">
      <div class="levels" style={{ gridTemplateRows: `repeat(${rows}, 10fr) 8fr` }} aria-hidden="true">
        {Array.from({ length: rows }, (_, i) => rows - 1 - i).map((i) => <span key={i}>{label(bounds, i)}</span>)}
        <span>sent again</span>
      </div>
      <svg viewBox={`0 0 ${columns} ${rows * 10 + 8}`} preserveAspectRatio="none" role="img" aria-label={`Lateness of the last hour: ${plural(history.steps.reduce((n, s) => n + attempts(s.late), 0), 'attempt')}. The table below has the figures.`}>
        {history.steps.flatMap((s) => {
          const x = column(s.at)
          return x < 0 ? [] : s.late.map((n, i) => n > 0 && (
            <rect key={`${s.at} ${i}`} class={bounds[i - 1] === undefined || bounds[i - 1]! < 100 ? '' : bounds[i - 1]! < 1000 ? 'late' : 'worse'} x={x} y={(rows - 1 - i) * 10} width="1.05" height="9.6" fill-opacity={(0.25 + 0.75 * Math.log1p(n) / Math.log1p(most)).toFixed(2)}>
              <title>{`${clock(s.at)}: ${plural(n, 'attempt')} ${range(bounds, i)}`}</title>
            </rect>
          ))
        })}
        {duplicates.map((s) => <rect key={s.at} class="duplicate" x={column(s.at)} y={rows * 10 + 1} width="1.5" height="7"><title>{`${clock(s.at)}: ${plural(s.lost_leases!, 'task')} sent again`}</title></rect>)}
      </svg>
      <div class="times"><span>{clock(start)}</span><span>{clock(start + columns * step / 2)}</span><span>{clock(now)}</span></div>
    </div>
  )
}

const attempts = (late: number[]) => late.reduce((sum, n) => sum + n, 0)
const clock = (at: number | string) => parts(at).clock.slice(0, 5)

function label(bounds: number[], i: number): string {
  return i < bounds.length ? '≤ ' + span(bounds[i]!) : '> ' + span(bounds[i - 1]!)
}

function range(bounds: number[], i: number): string {
  return i === bounds.length ? `more than ${span(bounds[i - 1]!)} late` : `at most ${span(bounds[i]!)} late`
}

interface Row {
  from: number
  attempts: number
  late: number
  waited: number
  delivered: number
  failed: number
  overdue: number
}

const columnsOfTable: Column<Row>[] = [
  { title: 'From', cell: (r) => clock(r.from) },
  { title: 'Attempts', number: true, cell: (r) => count(r.attempts) },
  { title: 'Over 100 ms late', number: true, cell: (r) => count(r.late) },
  { title: 'Waited over 100 ms', number: true, cell: (r) => count(r.waited) },
  { title: 'Delivered', number: true, cell: (r) => count(r.delivered) },
  { title: 'Failed or refused', number: true, cell: (r) => count(r.failed) },
  { title: 'Max overdue tasks', number: true, cell: (r) => count(r.overdue) },
]

// HistoryTable has the figures of the pictures, in steps of five minutes.
export function HistoryTable({ history }: { history: History }) {
  const rows = new Map<number, Row>()
  const long = (delays: number[]) => delays.reduce((n, c, i) => n + ((history.late_bounds_ms[i - 1] ?? 0) >= 100 ? c : 0), 0)
  for (const s of history.steps) {
    const from = Math.floor(Date.parse(s.at) / 3e5) * 3e5
    const row = rows.get(from) ?? { from, late: 0, waited: 0, attempts: 0, delivered: 0, failed: 0, overdue: 0 }
    row.attempts += attempts(s.late)
    row.late += long(s.late)
    row.waited += long(s.waited)
    row.delivered += s.delivered ?? 0
    row.failed += (s.failed ?? 0) + (s.refused ?? 0)
    row.overdue = Math.max(row.overdue, s.overdue ?? 0)
    rows.set(from, row)
  }
  return (
    <details>
      <summary>The figures as a table</summary>
      <Table caption="Attempts of the last hour" rows={[...rows.values()]} columns={columnsOfTable} id={(r) => String(r.from)} keys={false} />
    </details>
  )
}
