import { useSignal, type Signal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'
import { Refusal } from '../api/call'
import type { Problem } from '../api/openapi.gen'
import { namespace, token } from './session'

// Data is the last reply to a call that a part of the page shows.
export interface Data<T> {
  value: T | null
  problem: Problem | null
  loading: boolean
  reload: () => void
}

export type Load<T> = (signal: AbortSignal) => Promise<T>

interface State<T> {
  value: T | null
  problem: Problem | null
  loading: boolean
}

// useData calls load when the caller is shown, and again when an element of deps
// changes. With every it also calls it this many milliseconds after the last reply,
// unless the tab is hidden or a dialog is open. The last value stays while a later call fails. A
// null load makes no call.
export function useData<T>(load: Load<T> | null, deps: unknown[], every = 0, keep = false): Data<T> {
  const state = useSignal<State<T>>({ value: null, problem: null, loading: true })
  const turn = useSignal(0)
  useLayoutEffect(() => {
    if (!keep || !load) state.value = { value: keep ? state.peek().value : null, problem: null, loading: true }
  }, [...deps, token.value, namespace.value])
  useLayoutEffect(() => {
    if (!load) return
    const stop = new AbortController()
    void repeat(load, state, every, stop.signal)
    return () => stop.abort()
  }, [...deps, token.value, namespace.value, turn.value])
  return { ...state.value, reload: () => void turn.value++ }
}

async function repeat<T>(load: Load<T>, state: Signal<State<T>>, every: number, signal: AbortSignal) {
  for (let first = true; ; first = false) {
    // A list must not change under an open dialog, which may belong to one of its rows.
    if (first || !(document.hidden || document.querySelector('dialog[open]'))) await once(load, state, signal)
    if (!every || signal.aborted) return
    await new Promise((resolve) => setTimeout(resolve, every))
    if (signal.aborted) return
  }
}

async function once<T>(load: Load<T>, state: Signal<State<T>>, signal: AbortSignal) {
  try {
    const value = await load(signal)
    if (!signal.aborted) state.value = { value, problem: null, loading: false }
  } catch (err) {
    if (signal.aborted) return
    const problem = problemOf(err)
    state.value = { value: state.peek().value, problem, loading: false }
  }
}

// problemOf returns the problem of a failed call, for people.
export function problemOf(err: unknown): Problem {
  if (err instanceof Refusal) return err.problem
  return { type: 'about:blank', title: 'Error', status: 0, code: 'internal', detail: String(err) }
}
