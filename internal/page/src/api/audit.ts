import { listAudit, type AuditEntry } from './openapi.gen'
import { requestNamespace } from '../state/session'
import { readPages, type Pages } from './pages'

// searchAudit returns the newest n entries of a namespace that the filter selects, or
// those after a cursor.
export function searchAudit(filter: Omit<Parameters<typeof listAudit>[0], 'limit' | 'cursor'>, n: number, signal: AbortSignal, from?: string, namespace = requestNamespace()): Promise<Pages<AuditEntry>> {
  return readPages('entries', n, from, (page) => listAudit.in(namespace)({ ...filter, ...page }, undefined, signal))
}
