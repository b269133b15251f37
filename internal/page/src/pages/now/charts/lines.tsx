import { moment } from '../../../format/time'

export interface Line {
  label: string
  tone: 'good' | 'bad' | 'warn' | 'wait'
  dash: string // lines differ by their dashes too, not by the color alone
  values: number[]
}

const width = 600
const height = 150

// Lines draws values over time. The times are in milliseconds.
export function Lines({ times, lines, unit }: { times: number[]; lines: Line[]; unit: string }) {
  const most = top(Math.max(...lines.flatMap((l) => l.values)))
  const first = times[0]!
  const length = times[times.length - 1]! - first || 1 // one step
  const path = (values: number[]) => values.map((v, i) => `${i ? 'L' : 'M'}${(((times[i]! - first) / length) * width).toFixed(1)} ${(height - (v / most) * height).toFixed(1)}`).join('')
  return (
    <div class="lines">
      <div class="levels" aria-hidden="true">{[most, most / 2, 0].map((v) => <span key={v}>{Number(v.toPrecision(3))}{unit}</span>)}</div>
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
        {[0, 0.5, 1].map((share) => <path key={share} class="grid-line" d={`M0 ${height * share}H${width}`} />)}
        {lines.map((l) => <path key={l.label} class={'line ' + l.tone} stroke-dasharray={l.dash} d={path(l.values)} />)}
      </svg>
      <div class="times" aria-hidden="true">{[0, 0.5, 1].map((share) => <span key={share}>{moment(first + share * length, length)}</span>)}</div>
      <p class="legend">{lines.map((l) => <span key={l.label}><svg viewBox="0 0 24 14" class="swatch" aria-hidden="true"><path class={'line ' + l.tone} stroke-dasharray={l.dash} d="M0 7H24" /></svg>{l.label}</span>)}</p>
    </div>
  )
}

// top returns the end of the axis: the next of 1, 2, 5, 10, 20 ….
function top(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 0.1)))
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= value) ?? 10 * power
}
