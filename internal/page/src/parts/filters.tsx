import { useEffect, useRef } from 'preact/hooks'
import { zoneOf } from '../format/time'
import { dayAfter, utcOf, wall } from '../format/wall'
import type { Filter } from '../state/filter'
import { reasons } from '../state/filter'
import { route, setQuery } from '../state/route'
import { serverNow } from '../state/session'

// Filters edits the filter in the address of the page.
export function Filters({ of }: { of: Filter }) {
  const text = (key: keyof Filter, label: string, hint: string) => (
    <label class="field"><span>{label}</span>
      <input
        type="search" placeholder={hint} spellcheck={false} autocomplete="off"
        value={(of[key] as string | undefined) ?? ''} onChange={(e) => setQuery({ cursor: undefined, [key]: e.currentTarget.value.trim() })}
      />
    </label>
  )
  return (
    <form class="filters" role="search" aria-label="Filter" onSubmit={(e) => e.preventDefault()}>
      <Search of={of} />
      {text('prefix', 'Name begins with', 'order-')}
      <label class="field"><span>Reason</span>
        <select value={of.reason ?? ''} onChange={(e) => setQuery({ cursor: undefined, reason: e.currentTarget.value })}>
          <option value="">any</option>
          {reasons.map((w) => <option key={w} value={w}>{w.replaceAll('_', ' ')}</option>)}
        </select>
      </label>
      {text('queue', 'Queue', 'any')}
      <label class="field"><span>Labels</span>
        <input type="text" placeholder="key=value, key=value" spellcheck={false} autocomplete="off" value={of.label?.join(', ') ?? ''} onChange={(e) => setQuery({ cursor: undefined, label: e.currentTarget.value.split(/,\s*/).filter(Boolean) })} />
      </label>
      {text('schedule', 'Schedule', 'any')}
      {text('destination', 'Destination', 'shop.example:443')}
      <Bound name="due_after" label="Due after" />
      <Bound name="due_before" label="Due before" />
      <Bound name="ended_after" label="Ended after" />
      <Bound name="ended_before" label="Ended before" />
    </form>
  )
}

// midnight returns the beginning of a day in the zone that the user selected: 0 is today.
export function midnight(day: number): number {
  return utcOf(dayAfter(wall(serverNow(), zoneOf()).slice(0, 10), day) + 'T00:00:00', zoneOf())
}

const past = { today: () => midnight(0), '1 h ago': () => serverNow() - 36e5, '24 h ago': () => serverNow() - 864e5 }

// The times that are one click away.
const presets: Record<string, Record<string, () => number>> = {
  due_after: { now: serverNow, tomorrow: () => midnight(1) },
  due_before: { now: serverNow, 'in 1 h': () => serverNow() + 36e5, midnight: () => midnight(1) },
  ended_after: past,
  from: past,
}

// Search finds tasks while the user types: by a part of the name, or by labels in the form
// key=value.
function Search({ of }: { of: Filter }) {
  const timer = useRef(0)
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => () => clearTimeout(timer.current), [])
  useEffect(() => { // a link on the page has another filter
    if (input.current === document.activeElement) return
    clearTimeout(timer.current)
    input.current!.value = of.contains ?? ''
  }, [route.value])
  const search = (text: string) => {
    clearTimeout(timer.current)
    timer.current = window.setTimeout(() => {
      const labels = text.split(/,\s*/).filter((part) => /^[^=]+=/.test(part))
      setQuery(labels.length ? { cursor: undefined, contains: undefined, label: labels } : { cursor: undefined, contains: text.trim() })
    }, 250)
  }
  return (
    <label class="field grow"><span>Part of the name, or a label</span>
      <input ref={input} data-search type="search" placeholder="42, or tenant=acme" spellcheck={false} autocomplete="off" defaultValue={of.contains ?? ''} onInput={(e) => search(e.currentTarget.value)} />
    </label>
  )
}

// Bound is an input for a bound of a time in the address, with the clocks of the zone that
// the user selected.
export function Bound({ name, label }: { name: string; label: string }) {
  const at = Date.parse(route.value.query.get(name) ?? '')
  const set = (next: number) => setQuery({ cursor: undefined, [name]: Number.isNaN(next) ? undefined : new Date(next).toISOString() })
  return (
    <div class="bound">
      <label class="field"><span>{label}</span><input type="datetime-local" step="1" value={Number.isNaN(at) ? '' : wall(at, zoneOf())} onChange={(e) => set(utcOf(e.currentTarget.value, zoneOf()))} /></label>
      {presets[name] && <span class="actions">{Object.entries(presets[name]).map(([title, time]) => <button key={title} type="button" class="quiet" onClick={() => set(time())}>{title}</button>)}</span>}
    </div>
  )
}
