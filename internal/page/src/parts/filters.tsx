import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { zoneOf } from '../format/time'
import { dayAfter, utcOf, wall } from '../format/wall'
import type { Filter } from '../state/filter'
import { reasons } from '../state/filter'
import { route, setQuery } from '../state/route'
import { serverNow } from '../state/session'

// Filters edits the filter in the address of the page.
export function Filters({ of }: { of: Filter }) {
  return (
    <FilterForm>
      <Search of={of} />
      <Parameter name="prefix" label="Name begins with" hint="order-" />
      <Parameter name="reason" label="Reason" options={reasons.map((r) => [r, r.replaceAll('_', ' ')])} />
      <Parameter name="queue" label="Queue" hint="any" />
      <Parameter name="label" label="Labels" hint={labelsHint} list />
      <Parameter name="schedule" label="Schedule" hint="any" />
      <Parameter name="destination" label="Destination" hint="shop.example:443" />
      <Bound name="due_after" label="Due after" />
      <Bound name="due_before" label="Due before" />
      <Bound name="ended_after" label="Ended after" />
      <Bound name="ended_before" label="Ended before" />
    </FilterForm>
  )
}

export const labelsHint = 'key=value, key=value'

// FilterForm has the inputs of a filter, which all write the address of the page.
export function FilterForm({ children }: { children: ComponentChildren }) {
  return <form class="filters" role="search" aria-label="Filter" onSubmit={(e) => e.preventDefault()}>{children}</form>
}

// Parameter edits a parameter of the address: with options one of them or any, with list values
// that are separated by commas. New data on the page leaves the text that a user types.
export function Parameter({ name, label, hint, list, main, options }: { name: string; label: string; hint?: string; list?: boolean; main?: boolean; options?: [value: string, text: string][] }) {
  const read = () => (list ? route.value.query.getAll(name).join(', ') : route.value.query.get(name) ?? '')
  const value = read()
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => void (input.current && (input.current.value = value)), [value])
  const set = (text: string) => setQuery({ cursor: undefined, [name]: list ? text.split(/,\s*/).filter(Boolean) : text.trim() })
  return (
    <label class={main ? 'field grow' : 'field'}><span>{label}</span>
      {options ? (
        <select value={value} onChange={(e) => set(e.currentTarget.value)}>
          <option value="">any</option>
          {options.map(([v, text]) => <option key={v} value={v}>{text}</option>)}
          {value && !options.some(([v]) => v === value) && <option value={value}>{value}</option>}
        </select>
      ) : <input ref={input} data-search={main ? '' : undefined} type={(list ? 'text' : 'search') as 'search'} placeholder={hint} spellcheck={false} autocomplete="off" defaultValue={value} onChange={(e) => (set(e.currentTarget.value), (e.currentTarget.value = read()))} />}
    </label>
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
  const labelled = useRef(false) // by this input
  const sent = useRef(false) // this input made the present address
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => () => clearTimeout(timer.current), [])
  useEffect(() => { // a link on the page has another filter
    if (sent.current) return void (sent.current = false)
    clearTimeout(timer.current)
    labelled.current = false
    input.current!.value = of.contains ?? ''
  }, [route.value])
  const search = (text: string) => {
    clearTimeout(timer.current)
    timer.current = window.setTimeout(() => {
      sent.current = true
      const labels = text.split(/,\s*/).filter((part) => /^[^=]+=/.test(part))
      setQuery({ cursor: undefined, contains: labels.length ? undefined : text.trim(), ...((labels.length || labelled.current) && { label: labels }) })
      labelled.current = labels.length > 0
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
export function Bound({ name, label, quick = presets[name] }: { name: string; label: string; quick?: Record<string, () => number> }) {
  const at = Date.parse(route.value.query.get(name) ?? '')
  const set = (next: number) => setQuery({ cursor: undefined, [name]: Number.isNaN(next) ? undefined : new Date(next).toISOString() })
  return (
    <div class="bound">
      <label class="field"><span>{label}</span><input type="datetime-local" step="1" value={Number.isNaN(at) ? '' : wall(at, zoneOf())} onChange={(e) => set(utcOf(e.currentTarget.value, zoneOf()))} /></label>
      {quick && <span class="actions">{Object.entries(quick).map(([title, time]) => <button key={title} type="button" class="quiet" onClick={() => set(time())}>{title}</button>)}</span>}
    </div>
  )
}
