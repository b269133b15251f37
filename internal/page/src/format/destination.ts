import type { HTTPInput, WorkInput } from '../api/openapi.gen'

// destinationOf returns the host and port of a URL, or the name for a kind, as the API
// names destinations.
export function destinationOf(url = '', kind?: string): string {
  if (kind) return 'kind/' + kind
  try {
    const u = new URL(url)
    return `${u.hostname.replace(/\.$/, '')}:${u.port || (u.protocol === 'https:' ? '443' : '80')}`
  } catch {
    return url
  }
}

// kindOf returns the kind that has a destination, or '' if it is a host and port.
export const kindOf = (destination: string): string => (destination.startsWith('kind/') ? destination.slice('kind/'.length) : '')

// urlOrKind returns the text that names what a task calls.
export const urlOrKind = (url = '', kind?: string): string => (kind ? 'kind ' + kind : url)

// Calls is a task, or the template of one: it has a request or the call of a handler.
interface Calls {
  http?: HTTPInput
  work?: WorkInput
}

export const taskDestination = (t: Calls): string => destinationOf(t.http?.url, t.work?.kind)
export const taskCalls = (t: Calls): string => urlOrKind(t.http?.url, t.work?.kind)
