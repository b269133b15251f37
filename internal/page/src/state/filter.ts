import { route } from './route'

// A filter selects tasks. It has the parameters of the API, so the same filter
// is in the address of the page, in a request, and in a command.
export interface Filter {
  queue?: string
  state?: string[]
  reason?: string
  label?: string[]
  schedule?: string
  prefix?: string
  due_before?: string
  due_after?: string
  ended_before?: string
  ended_after?: string
  destination?: string
  contains?: string
}

export const states = ['scheduled', 'held', 'running', 'delivered', 'cancelled', 'expired', 'dead'] as const
export const reasons = [
  'attempts_exhausted', 'max_age_exceeded', 'reclaims_exhausted', 'gone', 'no_retry', 'egress_denied', 'refused', 'expired', 'cancelled', 'purged',
] as const

const single = ['queue', 'reason', 'schedule', 'prefix', 'due_before', 'due_after', 'ended_before', 'ended_after', 'destination', 'contains'] as const
const lists = ['state', 'label'] as const

// filterOf returns the filter in the address of the page.
export function filterOf(query: URLSearchParams = route.value.query): Filter {
  const f: Filter = {}
  for (const key of single) if (query.get(key)) f[key] = query.get(key)!
  for (const key of lists) if (query.getAll(key).length) f[key] = query.getAll(key)
  return f
}

// selects reports whether a filter excludes any task.
export function selects(f: Filter): boolean {
  return Object.values(f).some((value) => value !== undefined)
}

// query returns a filter as parameters of a call. The API has closed lists of
// words, and refuses others by name, so the page passes on the words of the address.
export function query(f: Filter): { [K in keyof Filter]: never } {
  return f as { [K in keyof Filter]: never }
}

// flags returns a filter as flags of foliot.
export function flags(f: Filter): string[] {
  const out: string[] = []
  for (const [key, value] of Object.entries(f)) {
    if (value === undefined) continue
    for (const one of Array.isArray(value) ? value : [value]) out.push(`--${key.replace('_', '-')}=${one}`)
  }
  return out.length ? out : ['--all']
}
