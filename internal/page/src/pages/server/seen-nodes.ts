import type { Node } from '../../api/openapi.gen'

// The server does not list nodes that were stopped, and a dead one only for about half
// a minute. So the tab remembers the nodes that it has seen.

const key = 'foliot.nodes'

type LastSeen = Record<string, string> // the last heartbeat by name

function remembered(): LastSeen {
  return JSON.parse(sessionStorage.getItem(key) ?? '{}') as LastSeen
}

// missingNodes remembers the nodes of a list, and returns the names and the last
// heartbeats of those that are not in it any more.
export function missingNodes(nodes: Node[]): [name: string, last: string][] {
  const seen = remembered()
  for (const n of nodes) if (n.name) seen[n.name] = n.last_seen_at ?? ''
  sessionStorage.setItem(key, JSON.stringify(seen))
  return Object.entries(seen).filter(([name]) => !nodes.some((n) => n.name === name))
}

export function forgetNode(name: string): void {
  const seen = remembered()
  delete seen[name]
  sessionStorage.setItem(key, JSON.stringify(seen))
}
