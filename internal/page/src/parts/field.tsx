import type { ComponentChildren } from 'preact'
import type { Signal } from '@preact/signals'

interface FieldProps {
  label: string
  value: Signal<string>
  hint?: ComponentChildren
  placeholder?: string
  options?: readonly (string | readonly [value: string, text: string])[]
  type?: 'text' | 'search' | 'url' | 'number' | 'datetime-local'
  required?: boolean
  rows?: number
}

// Field is one labelled input of a form. With options it is a selection, with rows
// a text of several lines.
export function Field({ label, value, hint, placeholder, options, type = 'text', required, rows }: FieldProps) {
  const set = (e: { currentTarget: { value: string } }) => (value.value = e.currentTarget.value)
  return (
    <label class="field"><span>{label}</span>
      {options ? (
        <select value={value.value} onChange={set}>
          {options.map((o) => {
            const [v, text] = typeof o === 'string' ? [o, o] : o
            return <option key={v} value={v}>{text || '—'}</option>
          })}
        </select>
      ) : rows ? (
        <textarea rows={rows} value={value.value} placeholder={placeholder} onInput={set} spellcheck={false} />
      ) : (
        <input type={type as 'search'} value={value.value} placeholder={placeholder} required={required} onInput={set} spellcheck={false} autocomplete="off" />
      )}
      {hint && <small class="dim">{hint}</small>}
    </label>
  )
}
