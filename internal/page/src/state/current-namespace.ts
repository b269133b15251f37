import type { Live, LiveQueue } from '../api/openapi.gen'
import { me, requestNamespace } from './session'

// An operator who has selected no namespace gets the live data of all namespaces, and on
// Now their attempts. All other data are of one. These functions select that one.

export function currentNamespace(): string {
  return requestNamespace() || me.value?.namespace || 'default'
}

// elsewhere returns the namespace of a record if it is another one, for links and
// labels. Actions need the record's own namespace to be selected first.
export function otherNamespace(of: string): string | undefined {
  return of === currentNamespace() ? undefined : of
}

export function ofCurrentNamespace<T extends { namespace: string }>(all: T[] | undefined): T[] {
  return all?.filter((one) => one.namespace === currentNamespace()) ?? []
}

// liveQueues returns the live data of the queues by name.
export function liveQueues(of: Live | null): Map<string, LiveQueue> {
  return new Map(ofCurrentNamespace(of?.queues).map((q) => [q.queue, q]))
}
