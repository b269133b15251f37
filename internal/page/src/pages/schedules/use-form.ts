import { previewRule, type Problem, type RulePreview } from '../../api/openapi.gen'
import { ruleKeys, ruleOf, used, type RuleText } from '../../format/rule'
import { requestIn, requestKeyOf, useRequest, wrongIn, type RequestErrors, type RequestSignals, type RequestText } from '../../parts/request-text'
import { useLatest, useSettled } from '../../state/latest'
import { useRefusal, type Send } from '../../state/refusal'
import { textIn, useRule, type RuleSignals } from './rule-fields'

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
  send: Send
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
  const [refused, send] = useRefusal(JSON.stringify([name, ruleText, requestText]), (field) => field === 'name' || ruleKeys.includes(field as never) || taskKeyOf(field) !== undefined)
  const field = refused?.field ?? ''
  const requestKey = taskKeyOf(field)
  const requestErrors = { ...wrongIn(requestText), ...(requestKey && { [requestKey]: refused!.detail }) }
  const ruleProblem = preview.problem ?? (ruleKeys.includes(field as never) ? refused : null)
  return {
    rule, request, ruleText, requestText, ruleProblem, requestErrors, send,
    shown: { text: settled, value: preview.value },
    nameError: field === 'name' ? refused!.detail : undefined,
    valid: used(settled).length > 0 && preview.value !== null && !refused && !ruleProblem && Object.keys(requestErrors).length === 0 && (requestText.work || requestText.url.trim()) !== '',
  }
}

// taskKeyOf returns the field of the form for a field of the API, such as
// task.retry.max_age.
function taskKeyOf(field: string) {
  return field.startsWith('task.') ? requestKeyOf(field.slice('task.'.length)) : undefined
}
