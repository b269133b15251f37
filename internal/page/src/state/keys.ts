import { useEffect } from 'preact/hooks'

// The keys of the page. A key has no effect while the user types into a field,
// or together with Ctrl, Alt or Meta.

type Keys = Record<string, (event: KeyboardEvent) => void>

const sets: Keys[] = []

addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return
  for (const keys of [...sets].reverse()) {
    const act = keys[event.key]
    if (act) {
      event.preventDefault()
      act(event)
      return
    }
  }
})

function typing(target: EventTarget | null): boolean {
  const el = target as HTMLElement | null
  if (!el || !el.tagName) return false
  if (document.querySelector('dialog[open]')) return true
  return el.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(el.tagName)
}

// useKeys binds keys while the caller is shown. The latest caller wins.
export function useKeys(keys: Keys, deps: unknown[] = []): void {
  useEffect(() => {
    sets.push(keys)
    return () => void sets.splice(sets.indexOf(keys), 1)
  }, deps)
}
