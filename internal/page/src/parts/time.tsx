import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { full, parts, relative } from '../format/time'
import { serverNow } from '../state/session'
import { frozen } from '../state/settings'

// Time shows when something is: its distance from now, and the full time as a hint. The mode
// short has only the clock, after the date of another day.
export function Time({ at, zone, mode = 'both' }: { at?: string | number; zone?: string; mode?: 'both' | 'relative' | 'full' | 'short' }) {
  const now = useNow()
  if (at === undefined || at === '') return <span class="dim">—</span>
  const whole = full(at, zone)
  const p = parts(at, zone)
  const date = sameDay(at, now, zone) ? '' : p.date + ' '
  return (
    <time dateTime={typeof at === 'string' ? at : new Date(at).toISOString()} title={whole}>
      {mode === 'full' ? whole : mode === 'relative' ? relative(at, now) : mode === 'short' ? date + p.clock : (
        <>
          <span class="nowrap">{relative(at, now)}</span> <small class="dim nowrap">{date}{p.clock}{p.millis}</small>
        </>
      )}
    </time>
  )
}

function sameDay(at: string | number, now: number, zone?: string): boolean {
  return parts(at, zone).date === parts(now, zone).date
}

// useNow returns the server's time, and renders the caller again each second.
export function useNow(): number {
  const now = useSignal(serverNow())
  useEffect(() => {
    const timer = setInterval(() => {
      if (!frozen.value && !document.hidden) now.value = serverNow()
    }, 1000)
    return () => clearInterval(timer)
  }, [])
  return now.value
}
