import { useSignal } from '@preact/signals'
import { Refusal } from '../../api/call'
import { previewRule, type Problem, type RulePreview } from '../../api/openapi.gen'
import { ruleKeys, ruleOf, used, type RuleText } from '../../format/rule'
import { problemOf } from '../../state/data'
import { useLatest, useSettled } from '../../state/latest'
import { textIn, useRule, type RuleSignals } from './rule-fields'
import { requestIn, requestKeys, useRequest, wrongIn, type RequestErrors, type RequestKey, type RequestSignals, type RequestText } from './request-form'

// ScheduleForm is the state of the form of a schedule.
export interface ScheduleForm {
  rule: RuleSignals
  request: RequestSignals
  ruleText: RuleText
  requestText: RequestText
  shown: { text: RuleText; value: RulePreview | null } // the last rule without an error
  ruleProblem: Problem | null
  requestErrors: RequestErrors
  nameError?: string
  valid: boolean // a command for the form would not fail
  send: <T>(call: () => Promise<T>) => Promise<T>
}

// useForm keeps a form of a schedule, and shows each error of it next to its field. The
// server checks the rule while the user types, and the request when it is sent.
export function useForm(ruleBefore: RuleText, requestBefore: RequestText, name: string): ScheduleForm {
  const rule = useRule(ruleBefore)
  const request = useRequest(requestBefore)
  const ruleText = textIn(rule)
  const requestText = requestIn(request)
  const key = useSettled(JSON.stringify(ruleText))
  const settled = JSON.parse(key) as RuleText
  const preview = useLatest(used(settled).length ? (signal) => previewRule({ limit: 3 }, ruleOf(settled), signal) : null, [key])
  const [refused, send] = useRefusal(JSON.stringify([name, ruleText, requestText]))
  const field = refused?.field ?? ''
  const requestKey = requestKeyOf(field)
  const requestErrors = { ...wrongIn(requestText), ...(requestKey && { [requestKey]: refused!.detail }) }
  const ruleProblem = preview.problem ?? (ruleKeys.includes(field as never) ? refused : null)
  return {
    rule, request, ruleText, requestText, ruleProblem, requestErrors, send,
    shown: { text: settled, value: preview.value },
    nameError: field === 'name' ? refused!.detail : undefined,
    valid: used(settled).length > 0 && preview.value !== null && !refused && !ruleProblem && Object.keys(requestErrors).length === 0 && requestText.url.trim() !== '',
  }
}

// requestKeyOf returns the field of the form for a field of the API, such as
// task.retry.max_age.
function requestKeyOf(field: string): RequestKey | undefined {
  const name = field.replace(/^task\.(http\.|retry\.)?/, '').replace('body_base64', 'body').split('.')[0]
  return field.startsWith('task.') ? requestKeys.find((key) => key === name) : undefined
}

// useRefusal keeps the refusal of a form until the form changes. The dialog then only
// says that the form was not sent, because the reason stands next to the field.
function useRefusal(text: string): [Problem | null, ScheduleForm['send']] {
  const last = useSignal<{ text: string; problem: Problem } | null>(null)
  const send = async <T>(call: () => Promise<T>): Promise<T> => {
    try {
      return await call()
    } catch (err) {
      const problem = problemOf(err)
      const { field = '' } = problem
      if (field !== 'name' && !ruleKeys.includes(field as never) && !requestKeyOf(field)) throw err
      last.value = { text, problem }
      throw notSaved
    }
  }
  return [last.value?.text === text ? last.value.problem : null, send]
}

export const notSaved = new Refusal({ type: 'about:blank', title: 'Not saved.', status: 0, code: 'internal', detail: 'Correct the marked field.' })
