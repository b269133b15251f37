import type { Filter } from '../state/filter'
import { reasons, states } from '../state/filter'
import { setQuery } from '../state/route'

// Filters edits the filter in the address of the page.
export function Filters({ of }: { of: Filter }) {
  const text = (key: keyof Filter, label: string, hint: string, search = false) => (
    <label class={'field' + (search ? ' grow' : '')}><span>{label}</span>
      <input
        data-search={search ? '' : undefined} type="search" placeholder={hint} spellcheck={false} autocomplete="off"
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
      {text('prefix', 'Name begins with', 'order-', true)}
      {choice('state', 'State', states)}
      {choice('reason', 'Reason', reasons)}
      {text('queue', 'Queue', 'any')}
      <label class="field"><span>Labels</span>
        <input type="text" placeholder="key=value, key=value" spellcheck={false} autocomplete="off" value={of.label?.join(', ') ?? ''} onChange={(e) => setQuery({ cursor: undefined, label: e.currentTarget.value.split(/,\s*/).filter(Boolean) })} />
      </label>
      {text('schedule', 'Schedule', 'any')}
      {text('due_after', 'Due after', '2030-01-02T15:04:05Z')}
      {text('due_before', 'Due before', '2030-01-02T15:04:05Z')}
    </form>
  )
}
