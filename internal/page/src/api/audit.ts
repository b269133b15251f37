import { listAudit, type AuditEntry } from './openapi.gen'
import { readPages, type Pages } from './pages'

// searchAudit returns the newest n entries that the filter selects, or those after a cursor.
export function searchAudit(filter: Omit<Parameters<typeof listAudit>[0], 'limit' | 'cursor'>, n: number, signal: AbortSignal, from?: string): Promise<Pages<AuditEntry>> {
  return readPages(n, from, async (limit, cursor) => {
    const { entries, next_cursor } = await listAudit({ ...filter, limit, cursor }, undefined, signal)
    return { items: entries, next: next_cursor }
  })
}
