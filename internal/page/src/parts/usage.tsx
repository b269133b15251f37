import { count } from '../format/number'

// Usage shows how much of a limit is in use: a bar, and the same as text.
export function Usage({ used, of, label, unit = '' }: { used: number; of: number; label?: string; unit?: string }) {
  const part = of > 0 ? Math.min(1, used / of) : 1
  return (
    <div class={'gauge' + (part >= 1 ? ' full' : '')}>
      <span><b>{number(used)}</b> of {number(of)}{unit}{label && <span class="dim"> {label}</span>}{part >= 1 && <span class="warn"> · full</span>}</span>
      <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect width={part * 100} height="6" /></svg>
    </div>
  )
}

function number(n: number): string {
  return Number.isInteger(n) ? count(n) : n >= 10 ? n.toFixed(0) : n.toPrecision(2)
}
