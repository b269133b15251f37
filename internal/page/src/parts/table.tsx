import type { ComponentChildren } from 'preact'
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { useKeys } from '../state/keys'

export interface Column<R> {
  title: string
  cell: (row: R) => ComponentChildren
  number?: boolean // aligned at the right
  wide?: boolean // takes the room that others do not need
}

interface TableProps<R> {
  caption: string
  rows: R[]
  columns: Column<R>[]
  id: (row: R) => string
  href?: (row: R) => string // the first cell links there, and Enter opens it
  selected?: Set<string>
  onSelect?: (selected: Set<string>) => void
  empty?: ComponentChildren
  keys?: boolean // j, k, x and Enter move through this table
}

// Table shows rows. On a narrow screen each row becomes a card with the titles of
// its columns.
export function Table<R>({ caption, rows, columns, id, href, selected, onSelect, empty, keys = true }: TableProps<R>) {
  const at = useSignal(-1)
  const body = useRef<HTMLTableSectionElement>(null)
  const move = (by: number) => {
    at.value = Math.max(0, Math.min(rows.length - 1, at.value + by))
    const row = body.current?.rows[at.value]
    row?.scrollIntoView({ block: 'nearest' })
  }
  const toggle = (key: string) => {
    if (!selected || !onSelect) return
    const next = new Set(selected)
    if (!next.delete(key)) next.add(key)
    onSelect(next)
  }
  useEffect(() => {
    if (at.value >= rows.length) at.value = rows.length - 1
  }, [rows])
  useKeys(keys ? {
    j: () => move(1),
    k: () => move(-1),
    x: () => rows[at.value] !== undefined && toggle(id(rows[at.value]!)),
    Enter: (e) => {
      if ((e.target as HTMLElement).closest('a,button,summary')) return void (e.target as HTMLElement).click()
      if (rows[at.value] !== undefined && href) location.hash = href(rows[at.value]!)
    },
  } : {}, [rows, selected, keys])
  if (rows.length === 0 && empty) return <>{empty}</>
  return (
    <div class="table" tabIndex={0} role="region" aria-label={'Table: ' + caption}>
      <table>
        <caption class="sr">{caption}</caption>
        <thead>
          <tr>
            {onSelect && <th class="pick"><input type="checkbox" aria-label="Select all rows" checked={rows.length > 0 && rows.every((r) => selected?.has(id(r)))} onChange={(e) => onSelect(e.currentTarget.checked ? new Set(rows.map(id)) : new Set())} /></th>}
            {columns.map((c) => <th key={c.title} scope="col" class={c.number ? 'number' : c.wide ? 'wide' : ''}>{c.title}</th>)}
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.map((row, i) => {
            const key = id(row)
            return (
              <tr key={key} class={(i === at.value ? 'at ' : '') + (selected?.has(key) ? 'picked' : '')}>
                {onSelect && <td class="pick"><input type="checkbox" aria-label={'Select ' + key} checked={selected?.has(key) ?? false} onChange={() => toggle(key)} /></td>}
                {columns.map((c, n) => (
                  <td key={c.title} data-title={c.title} class={c.number ? 'number' : ''}>
                    {n === 0 && href ? <a href={href(row)}>{c.cell(row)}</a> : c.cell(row)}
                  </td>
                ))}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
