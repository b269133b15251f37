import type { Signal } from '@preact/signals'
import type { Figures, History } from '../../../api/openapi.gen'
import { count, plural } from '../../../format/number'
import { millis, moment, span } from '../../../format/time'
import { Table, type Column } from '../../../parts/table'
import { otherNamespace } from '../../../state/current-namespace'
import { link } from '../../../state/route'

// Heatmap shows the lateness of attempts: a column for each step, a row for each range
// of lateness. Below it are the attempts whose task was lost to another attempt, so that it
// was sent again.
export function Heatmap({ history }: { history: History }) {
  const step = millis(history.step)
  const start = Date.parse(history.from)
  const end = Date.parse(history.until)
  const columns = Math.max(1, Math.round((end - start) / step))
  const bounds = history.late_bounds_ms
  const rows = bounds.length + 1
  const most = Math.max(1, ...history.steps.flatMap((s) => s.late))
  const column = (at: string) => Math.round((Date.parse(at) - start) / step)
  const duplicates = history.steps.filter((s) => s.lost_leases)
  const clock = (at: number | string) => moment(at, end - start)
  return (
    <div class="heat">
      <div class="levels" style={{ gridTemplateRows: `repeat(${rows}, 10fr) 8fr` }} aria-hidden="true">
        {Array.from({ length: rows }, (_, i) => rows - 1 - i).map((i) => <span key={i}>{label(bounds, i)}</span>)}
        <span>sent again</span>
      </div>
      <svg viewBox={`0 0 ${columns * 6} ${rows * 10 + 8}`} preserveAspectRatio="none" role="img" aria-label={`Lateness: ${plural(history.steps.reduce((n, s) => n + s.attempts, 0), 'attempt')}. The table below has the figures.`}>
        {history.steps.flatMap((s) => s.late.map((n, i) => n > 0 && (
          <rect key={`${s.at} ${i}`} class={bounds[i - 1] === undefined || bounds[i - 1]! < 100 ? '' : bounds[i - 1]! < 1000 ? 'late' : 'worse'} x={column(s.at!) * 6} y={(rows - 1 - i) * 10} width="5.8" height="9.6" fill-opacity={(0.25 + 0.75 * Math.log1p(n) / Math.log1p(most)).toFixed(2)}>
            <title>{`${clock(s.at!)}: ${plural(n, 'attempt')} ${range(bounds, i)}`}</title>
          </rect>
        )))}
        {duplicates.map((s) => <rect key={s.at} class="duplicate" x={column(s.at!) * 6} y={rows * 10 + 1} width="5.8" height="7"><title>{`${clock(s.at!)}: ${plural(s.lost_leases!, 'task')} sent again`}</title></rect>)}
      </svg>
      <div class="times"><span>{clock(start)}</span><span>{clock((start + end - step) / 2)}</span><span>{clock(end - step)}</span></div>
    </div>
  )
}

function label(bounds: number[], i: number): string {
  return i < bounds.length ? '≤ ' + span(bounds[i]!) : '> ' + span(bounds[i - 1]!)
}

function range(bounds: number[], i: number): string {
  return i === bounds.length ? `more than ${span(bounds[i - 1]!)} late` : `at most ${span(bounds[i]!)} late`
}

const share = (n: number | undefined, of: number) => (of === 0 ? '' : `${((100 * (n ?? 0)) / of).toFixed(1)} %`)

const bound = (ms: number | undefined, f: Figures) => (ms ? '≤ ' + span(ms) : f.attempts ? '> 1 min' : '')

const figures: Column<Figures>[] = [
  { title: 'Attempts', number: true, cell: (f) => count(f.attempts) },
  { title: 'Delivered', number: true, cell: (f) => count(f.delivered ?? 0) },
  { title: 'Failed or refused', number: true, cell: (f) => count((f.failed ?? 0) + (f.refused ?? 0)) },
  { title: 'Died', number: true, cell: (f) => count(f.dead ?? 0) },
  { title: 'Created', number: true, cell: (f) => count(f.created ?? 0) },
  { title: 'Cancelled', number: true, cell: (f) => count(f.cancelled ?? 0) },
  { title: 'Over 10 ms late', number: true, cell: (f) => share(f.over_10ms, f.attempts) },
  { title: 'Over 100 ms', number: true, cell: (f) => share(f.over_100ms, f.attempts) },
  { title: 'Over 1 s', number: true, cell: (f) => share(f.over_1s, f.attempts) },
  { title: 'p50', number: true, cell: (f) => bound(f.p50_ms, f) },
  { title: 'p99', number: true, cell: (f) => bound(f.p99_ms, f) },
]

// HistoryTables has the figures of the pictures, and those of each queue.
export function HistoryTables({ history, open }: { history: History; open: Signal<boolean> }) {
  const length = Date.parse(history.until) - Date.parse(history.from)
  return (
    <>
      <details open={open.value} onToggle={(e) => (open.value = e.currentTarget.open)}>
        <summary>The figures by time</summary>
        <Table caption="Figures by time" rows={history.steps} columns={[{ title: 'From', cell: (f) => moment(f.at!, length) }, ...figures]} id={(f) => f.at!} keys={false} />
      </details>
      <details open>
        <summary>The figures by queue</summary>
        <Table caption="Figures by queue" rows={history.queues} columns={[{ title: 'Queue', cell: (f) => <>{otherNamespace(f.namespace!) && f.namespace + ' / '}{f.queue ? <a href={link('queues', f.queue, { namespace: otherNamespace(f.namespace!) })}>{f.queue}</a> : 'the others'}</> }, ...figures]} id={(f) => `${f.namespace}/${f.queue ?? ''}`} keys={false} />
      </details>
    </>
  )
}
