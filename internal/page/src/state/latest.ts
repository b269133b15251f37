import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { RefObject } from 'preact'
import { useData, type Load } from './data'

// useLatest is useData, but it keeps the last value until the next one arrives, so that a
// picture does not disappear while the user types.
export const useLatest = <T>(load: Load<T> | null, deps: unknown[]) => useData(load, deps, 0, true)

// useSettled returns text after it has not changed for a quarter of a second.
export function useSettled(text: string): string {
  const settled = useSignal(text)
  useEffect(() => {
    const timer = setTimeout(() => (settled.value = text), 250)
    return () => clearTimeout(timer)
  }, [text])
  return settled.value
}

// useOnScreen reports whether an element has been on the screen. A row below it
// needs no requests yet.
export function useOnScreen<E extends Element>(): [RefObject<E | null>, boolean] {
  const ref = useRef<E>(null)
  const seen = useSignal(false)
  useEffect(() => {
    const watch = new IntersectionObserver((entries) => {
      if (entries.some((e) => e.isIntersecting)) {
        seen.value = true
        watch.disconnect()
      }
    })
    watch.observe(ref.current!)
    return () => watch.disconnect()
  }, [])
  return [ref, seen.value]
}
