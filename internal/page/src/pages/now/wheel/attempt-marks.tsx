import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { AttemptTotals, Live } from '../../../api/openapi.gen'
import { count } from '../../../format/number'
import { place, radii } from './model'

// A mark is one attempt that ended in the last second, or several of one outcome if
// there were too many to show one by one.
interface AttemptMark {
  id: number
  outcome: Outcome
  attempts: number
  delay: number // seconds
  angle: number // turns from twelve o'clock
  above: number // pixels above the ring
}

type Outcome = 'delivered' | 'failed' | 'deferred' | 'refused'

const outcomes: Outcome[] = ['delivered', 'failed', 'deferred', 'refused']
const single = 50 // up to so many attempts a second get a mark each

// shapes differ by outcome, so that the color is not alone.
const shapes: Record<Outcome, string> = {
  delivered: 'M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0',
  failed: 'M0-5.5 5.5 4.5H-5.5Z',
  deferred: 'M-4-4H4V4H-4Z',
  refused: 'M-5-2H-2V-5H2V-2H5V2H2V5H-2V2H-5Z',
}

// AttemptMarks shows the attempts between two frames of live data.
export function AttemptMarks({ live }: { live: Live | null }) {
  const before = useRef<AttemptTotals | null>(null)
  const shown = useSignal<AttemptMark[]>([])
  const ids = useRef(0)
  useEffect(() => {
    const totals = live?.attempts
    if (!totals) return void (before.current = null)
    if (before.current) shown.value = between(before.current, totals, () => ids.current++)
    before.current = totals
  }, [live])
  return (
    <g aria-hidden="true">
      {shown.value.map((s) => {
        const [x, y] = place(radii(0)[1] + 6 + s.above, s.angle)
        return (
          <g key={s.id} transform={`translate(${x} ${y})`}>
            <g class={'attempt-mark ' + s.outcome} style={{ animationDelay: s.delay + 's' }}>
              <path d={shapes[s.outcome]} />
              {s.attempts > 1 && <text x="9" y="4">{count(s.attempts)} {s.outcome}</text>}
            </g>
          </g>
        )
      })}
    </g>
  )
}

// between returns the marks for the attempts between two totals. The totals of a
// server that started again begin with zero.
export function between(before: AttemptTotals, after: AttemptTotals, id: () => number): AttemptMark[] {
  const fresh = outcomes.map((o) => [o, after[o] - before[o]] as const).filter(([, n]) => n > 0)
  const all = fresh.reduce((sum, [, n]) => sum + n, 0)
  const out: AttemptMark[] = []
  fresh.forEach(([outcome, n], row) => {
    if (all > single) {
      out.push({ id: id(), outcome, attempts: n, delay: 0, angle: 0.012, above: 16 * row })
      return
    }
    for (let i = 0; i < n; i++) out.push({ id: id(), outcome, attempts: 1, delay: (i + 0.5) / n, angle: 0.01 * (((i * 7 + row * 3) % 9) - 4) / 4, above: 0 })
  })
  return out
}
