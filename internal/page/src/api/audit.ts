import { listAudit, type AuditEntry } from './openapi.gen'
import { requestNamespace } from '../state/session'
import { readPages, type Pages } from './pages'

// searchAudit returns the newest n entries of a namespace that the filter selects, or
// those after a cursor.
export function searchAudit(filter: Omit<Parameters<typeof listAudit>[0], 'limit' | 'cursor'>, n: number, signal: AbortSignal, from?: string, namespace = requestNamespace()): Promise<Pages<AuditEntry>> {
  return readPages(n, from, async (limit, cursor) => {
    const { entries, next_cursor } = await listAudit.in(namespace)({ ...filter, limit, cursor }, undefined, signal)
    return { items: entries, next: next_cursor }
  })
}
