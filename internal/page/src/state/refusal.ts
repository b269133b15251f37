import { useSignal } from '@preact/signals'
import { Refusal } from '../api/call'
import type { Problem } from '../api/openapi.gen'
import { problemOf } from './data'

export type Send = <T>(call: () => Promise<T>) => Promise<T>

// useRefusal keeps the refusal of a form until its text changes, if it is about a field of
// the form. The dialog then only says that the form was not sent, because the reason is
// next to the field.
export function useRefusal(text: string, has: (field: string) => boolean): [Problem | null, Send] {
  const last = useSignal<{ text: string; problem: Problem } | null>(null)
  const send: Send = async (call) => {
    try {
      return await call()
    } catch (err) {
      const problem = problemOf(err)
      if (!has(problem.field ?? '')) throw err
      last.value = { text, problem }
      throw notSaved
    }
  }
  return [last.value?.text === text ? last.value.problem : null, send]
}

export const notSaved = new Refusal({ type: 'about:blank', title: 'Not saved.', status: 0, code: 'internal', detail: 'Correct the marked field.' })
