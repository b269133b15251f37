import type { Signal } from '@preact/signals'
import { full, zoneName, zoneOf } from '../format/time'
import { utcOf, wall } from '../format/wall'

// TimeField is an input for a time. The signal has the time as the API writes it, or
// nothing; the input shows the clocks of the zone that the user selected.
export function TimeField({ label, value, zone, hint, error, required }: { label: string; value: Signal<string>; zone?: string; hint?: string; error?: string; required?: boolean }) {
  const shown = zoneOf(zone)
  const at = Date.parse(value.value)
  const set = (text: string) => {
    const next = utcOf(text, shown)
    value.value = Number.isNaN(next) ? '' : new Date(next).toISOString().replace('.000Z', 'Z')
  }
  return (
    <label class="field"><span>{label}</span>
      <input
        type="datetime-local" step="1" required={required} aria-invalid={error ? 'true' : undefined}
        value={Number.isNaN(at) ? '' : wall(at, shown)} onInput={(e) => set(e.currentTarget.value)}
      />
      {error && <small class="bad" role="alert">{error}</small>}
      <small class="dim">{Number.isNaN(at) ? hint ?? `Clocks of ${shown ?? zoneName()}` : full(at, zone)}</small>
    </label>
  )
}
