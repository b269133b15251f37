import { link, route } from '../state/route'

// Pager leads to the next page of a list, and back.
export function Pager({ next }: { next?: string }) {
  const { page, name, query } = route.value
  const all = Object.fromEntries([...query.keys()].map((key) => [key, query.getAll(key)]))
  if (!next && !query.has('cursor')) return null
  return (
    <div class="actions">
      {query.has('cursor') && <button type="button" onClick={() => history.back()}>Previous page</button>}
      {next && <a class="button" href={link(page, name, { ...all, cursor: next })}>Next page</a>}
    </div>
  )
}
