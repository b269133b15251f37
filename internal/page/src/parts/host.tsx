import { otherNamespace } from '../state/current-namespace'
import { link } from '../state/route'

// Host is the name of a destination: its line breaks only before the port.
export function Host({ name }: { name: string }) {
  const at = name.lastIndexOf(':')
  if (name.length < 25 || at < 0) return <span class="nowrap">{name}</span>
  return <>{name.slice(0, at)}<wbr /><span class="nowrap">{name.slice(at)}</span></>
}

export function DestinationLink({ name, namespace }: { name: string; namespace?: string }) {
  const other = namespace && otherNamespace(namespace)
  return <a href={link('destinations', name, other ? { namespace: other } : {})}><Host name={name} /></a>
}
