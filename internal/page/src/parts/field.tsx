import type { ComponentChildren } from 'preact'
import type { Signal } from '@preact/signals'

interface FieldProps {
  label: string
  value: Signal<string>
  hint?: ComponentChildren
  placeholder?: string
  options?: readonly (string | readonly [value: string, text: string])[]
  type?: 'text' | 'search' | 'url' | 'number'
  required?: boolean
  rows?: number
  error?: string // why the server refuses the value
  list?: string // the id of a datalist
  search?: boolean // the key / goes here
}

// Field is one labelled input of a form. With options it is a selection, with rows
// a text of several lines.
export function Field({ label, value, hint, placeholder, options, type = 'text', required, rows, error, list, search }: FieldProps) {
  const set = (e: { currentTarget: { value: string } }) => (value.value = e.currentTarget.value)
  return (
    <label class="field"><span>{label}</span>
      {options ? (
        <select value={value.value} onChange={set} aria-invalid={error ? 'true' : undefined}>
          {options.map((o) => {
            const [v, text] = typeof o === 'string' ? [o, o] : o
            return <option key={v} value={v}>{text || '—'}</option>
          })}
        </select>
      ) : rows ? (
        <textarea rows={rows} value={value.value} placeholder={placeholder} onInput={set} spellcheck={false} aria-invalid={error ? 'true' : undefined} />
      ) : (
        <input type={type as 'search'} value={value.value} placeholder={placeholder} required={required} onInput={set} spellcheck={false} autocomplete="off" aria-invalid={error ? 'true' : undefined} list={list} data-search={search ? '' : undefined} />
      )}
      {error && <small class="bad" role="alert">{error}</small>}
      {hint && <small class="dim">{hint}</small>}
    </label>
  )
}
