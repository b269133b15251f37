// Pages is the items of some pages of a list. next is the cursor of the first page
// that was not read.
export interface Pages<T> {
  items: T[]
  next?: string
}

const longest = 2000 // milliseconds
const largest = 1000 // items of one request

// readPages reads pages until it has n items, the list ends, or two seconds have
// passed. A page may be short or empty and not be the last: one request examines at
// most 10,000 records.
export async function readPages<T>(n: number, cursor: string | undefined, read: (limit: number, cursor?: string) => Promise<Pages<T>>): Promise<Pages<T>> {
  const end = performance.now() + longest
  const items: T[] = []
  do {
    const page = await read(Math.min(largest, n - items.length), cursor)
    items.push(...page.items)
    cursor = page.next
  } while (cursor && items.length < n && performance.now() < end)
  return { items, next: cursor }
}
