// Pages is the items of some pages of a list. next is the cursor of the first page
// that was not read.
export interface Pages<T> {
  items: T[]
  next?: string
}

const longest = 2000 // milliseconds
const largest = 1000 // items of one request

// readPages reads pages until it has n items, the list ends, or two seconds have
// passed. A page may be short or empty and not be the last: one request examines
// only a part of many records. name is that of the items in a page.
export async function readPages<K extends string, T>(name: K, n: number, cursor: string | undefined, read: (page: { limit: number; cursor?: string }) => Promise<{ next_cursor?: string } & Record<K, T[]>>): Promise<Pages<T>> {
  const end = performance.now() + longest
  const items: T[] = []
  do {
    const page = await read({ limit: Math.min(largest, n - items.length), cursor })
    items.push(...page[name])
    cursor = page.next_cursor
  } while (cursor && items.length < n && performance.now() < end)
  return { items, next: cursor }
}
