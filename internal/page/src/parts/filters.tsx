import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { zoneOf } from '../format/time'
import { utcOf, wall } from '../format/wall'
import type { Filter } from '../state/filter'
import { reasons, states } from '../state/filter'
import { setQuery } from '../state/route'
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
  const choice = (key: 'state' | 'reason', label: string, words: readonly string[]) => (
    <label class="field"><span>{label}</span>
      <select value={key === 'state' ? of.state?.join(',') ?? '' : of.reason ?? ''} onChange={(e) => setQuery({ cursor: undefined, [key]: e.currentTarget.value ? e.currentTarget.value.split(',') : undefined })}>
        <option value="">any</option>
        {key === 'state' && (of.state?.length ?? 0) > 1 && <option value={of.state!.join(',')}>{of.state!.join(', ')}</option>}
        {words.map((w) => <option key={w} value={w}>{w.replaceAll('_', ' ')}</option>)}
      </select>
    </label>
  )
  return (
    <form class="filters" role="search" aria-label="Filter" onSubmit={(e) => e.preventDefault()}>
      <Search of={of} />
      {text('prefix', 'Name begins with', 'order-')}
      {choice('state', 'State', states)}
      {choice('reason', 'Reason', reasons)}
      {text('queue', 'Queue', 'any')}
      <label class="field"><span>Labels</span>
        <input type="text" placeholder="key=value, key=value" spellcheck={false} autocomplete="off" value={of.label?.join(', ') ?? ''} onChange={(e) => setQuery({ cursor: undefined, label: e.currentTarget.value.split(/,\s*/).filter(Boolean) })} />
      </label>
      {text('schedule', 'Schedule', 'any')}
      {text('destination', 'Destination', 'shop.example:443')}
      <Bound of={of} name="due_after" label="Due after" />
      <Bound of={of} name="due_before" label="Due before" />
      <EndedAfter of={of} label="Ended after" />
      <Bound of={of} name="ended_before" label="Ended before" />
    </form>
  )
}

const presets: Record<string, () => number> = {
  today: () => new Date().setHours(0, 0, 0, 0),
  'last hour': () => serverNow() - 36e5,
  'last 24 hours': () => serverNow() - 864e5,
}

// Search finds tasks while the user types: by a part of the name, or by labels in the form
// key=value.
function Search({ of }: { of: Filter }) {
  const timer = useRef(0)
  useEffect(() => () => clearTimeout(timer.current), [])
  const search = (text: string) => {
    clearTimeout(timer.current)
    timer.current = window.setTimeout(() => {
      const labels = text.split(/,\s*/).filter((part) => /^[^=]+=/.test(part))
      setQuery(labels.length ? { cursor: undefined, contains: undefined, label: labels } : { cursor: undefined, contains: text.trim() })
    }, 250)
  }
  return (
    <label class="field grow"><span>Part of the name, or a label</span>
      <input data-search type="search" placeholder="42, or tenant=acme" spellcheck={false} autocomplete="off" defaultValue={of.contains ?? ''} onInput={(e) => search(e.currentTarget.value)} />
    </label>
  )
}

// EndedAfter is an input for the time after which tasks have ended.
export function EndedAfter({ of, label }: { of: Filter; label: string }) {
  return (
    <Bound of={of} name="ended_after" label={label}>
      {Object.entries(presets).map(([name, from]) => <button key={name} type="button" onClick={() => setQuery({ cursor: undefined, ended_after: new Date(from()).toISOString() })}>{name}</button>)}
    </Bound>
  )
}

// Bound is an input for a bound of a time, with the clocks of the zone that the user
// selected.
function Bound({ of, name, label, children }: { of: Filter; name: 'due_after' | 'due_before' | 'ended_after' | 'ended_before'; label: string; children?: ComponentChildren }) {
  const at = Date.parse(of[name] ?? '')
  const set = (text: string) => {
    const next = utcOf(text, zoneOf())
    setQuery({ cursor: undefined, [name]: Number.isNaN(next) ? undefined : new Date(next).toISOString() })
  }
  return (
    <div class="bound">
      <label class="field"><span>{label}</span><input type="datetime-local" step="1" value={Number.isNaN(at) ? '' : wall(at, zoneOf())} onChange={(e) => set(e.currentTarget.value)} /></label>
      {children && <span class="actions">{children}</span>}
    </div>
  )
}
