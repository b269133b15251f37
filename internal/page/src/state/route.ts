import { signal } from '@preact/signals'
import { namespace } from './session'

// A route is the part of the address after #: a page, the name of one record, and
// the filter. So the page needs no paths of its own on the server, and a link has
// the whole view.
export interface Route {
  page: string
  name: string
  query: URLSearchParams
}

export function parse(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s)
  const slash = path.indexOf('/')
  const page = slash < 0 ? path : path.slice(0, slash)
  return { page: page || 'now', name: slash < 0 ? '' : decode(path.slice(slash + 1)), query: new URLSearchParams(query) }
}

// decode returns the text of a part of an address, or the part itself if its
// escapes are wrong: a user may have typed it.
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

type Query = Record<string, string | string[] | undefined>

// link returns the address of a page, for href. It has the namespace that an operator
// selected, unless query names another.
export function link(page: string, name = '', query: Query = {}): string {
  const params = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one) params.append(key, one)
  }
  if (namespace.value && !('namespace' in query)) params.set('namespace', namespace.value)
  return `#/${page}${name ? '/' + encodeURIComponent(name) : ''}${params.size ? '?' + params : ''}`
}

export const route = signal(parse(location.hash))

addEventListener('hashchange', () => (route.value = parse(location.hash)))

export function go(page: string, name = '', query: Query = {}): void {
  location.hash = link(page, name, query)
}

// setQuery changes some parameters of the present route. An empty value removes one.
// The browser's history gets no new entry, because typing in a filter would fill it.
export function setQuery(changes: Query): void {
  const { page, name, query } = route.value
  const all: Query = {}
  for (const key of query.keys()) all[key] = query.getAll(key)
  history.replaceState(null, '', link(page, name, { ...all, ...changes }))
  route.value = parse(location.hash)
}
