import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { RefObject } from 'preact'
import type { Problem } from '../api/openapi.gen'
import { problemOf } from './data'
import { logOut } from './session'

// Latest is the last good reply to a call. The problem is that of the last call.
export interface Latest<T> {
  value: T | null
  problem: Problem | null
}

// useLatest calls load when an element of deps changes. Other than useData it keeps
// the last good reply until the next one arrives, so that a picture does not
// disappear while the user types. A null load makes no call.
export function useLatest<T>(load: ((signal: AbortSignal) => Promise<T>) | null, deps: unknown[]): Latest<T> {
  const state = useSignal<Latest<T>>({ value: null, problem: null })
  useEffect(() => {
    if (!load) return void (state.value = { ...state.peek(), problem: null })
    const stop = new AbortController()
    load(stop.signal).then(
      (value) => !stop.signal.aborted && (state.value = { value, problem: null }),
      (err) => {
        if (stop.signal.aborted) return
        const problem = problemOf(err)
        if (problem.status === 401) logOut(problem.detail)
        state.value = { value: state.peek().value, problem }
      },
    )
    return () => stop.abort()
  }, deps)
  return state.value
}

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
