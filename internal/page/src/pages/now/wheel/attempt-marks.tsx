import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { AttemptTotals, Live } from '../../../api/openapi.gen'
import { count } from '../../../format/number'
import { place, radii } from './model'

type Outcome = 'delivered' | 'failed' | 'snoozed' | 'refused'

// Ended is the attempts of one outcome that ended in the last second.
interface Ended {
  outcome: Outcome
  attempts: number
}

const outcomes: Outcome[] = ['delivered', 'failed', 'snoozed', 'refused']

// Up to single attempts a second have a mark each. A mark rises by 50 units within its
// second, and is in one of the columns from left to right. So the next mark of its column
// is 12 units below it, and the next column is 12 units away: a mark has at most 11.
const single = 24
const columns = 6
const apart = 12

// shapes differ by outcome, so that the color is not alone.
const shapes: Record<Outcome, string> = {
  delivered: 'M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0',
  failed: 'M0-5.5 5.5 4.5H-5.5Z',
  snoozed: 'M-4-4H4V4H-4Z',
  refused: 'M-5-2H-2V-5H2V-2H5V2H2V5H-2V2H-5Z',
}

// AttemptMarks shows the attempts between two frames of live data. The marks of a frame
// replace those of the one before.
export function AttemptMarks({ live }: { live: Live | null }) {
  const before = useRef<AttemptTotals | null>(null)
  const frame = useSignal<{ ended: Ended[]; key: number }>({ ended: [], key: 0 })
  useEffect(() => {
    const totals = live?.attempts
    if (!totals) return void (before.current = null)
    if (before.current) frame.value = { ended: endedBetween(before.current, totals), key: frame.peek().key + 1 }
    before.current = totals
  }, [live])
  const { ended, key } = frame.value
  const many = ended.reduce((sum, e) => sum + e.attempts, 0) > single
  return <g key={key} aria-hidden="true">{many ? <Totals of={ended} /> : <Singles of={ended} />}</g>
}

// endedBetween returns the attempts between two totals. The totals of a server that
// started again begin with zero.
function endedBetween(before: AttemptTotals, after: AttemptTotals): Ended[] {
  return outcomes.map((outcome) => ({ outcome, attempts: after[outcome] - before[outcome] })).filter((e) => e.attempts > 0)
}

// Totals shows a number for each outcome, each in its own line. They fade together, and
// do not move.
function Totals({ of }: { of: Ended[] }) {
  const [x, y] = place(radii(0)[1] + 5, 0.012)
  return (
    <g class="attempt-totals">
      {of.map(({ outcome, attempts }, line) => (
        <g key={outcome} class={'attempt-mark ' + outcome} transform={`translate(${x} ${y - 16 * line})`}>
          <path d={shapes[outcome]} /><text x="9" y="4">{count(attempts)} {outcome}</text>
        </g>
      ))}
    </g>
  )
}

function Singles({ of }: { of: Ended[] }) {
  const all = of.flatMap(({ outcome, attempts }) => Array.from({ length: attempts }, (_, i) => ({ outcome, order: (i + 0.5) / attempts })))
  return (
    <>
      {all.sort((a, b) => a.order - b.order).map(({ outcome }, i) => {
        const radius = radii(0)[1] + 6
        const [x, y] = place(radius, ((i % columns) * apart + 8) / (2 * Math.PI * radius))
        return (
          <g key={i} class={'attempt-mark ' + outcome} transform={`translate(${x} ${y})`}>
            <path class="rising" style={{ animationDelay: (i + 0.5) / all.length + 's' }} d={shapes[outcome]} />
          </g>
        )
      })}
    </>
  )
}
