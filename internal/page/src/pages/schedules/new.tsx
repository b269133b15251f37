import { useSignal } from '@preact/signals'
import { guarded } from '../../api/call'
import { putSchedule } from '../../api/openapi.gen'
import { foliot } from '../../format/command'
import type { RuleText } from '../../format/rule'
import { Action } from '../../parts/action'
import { Field } from '../../parts/field'
import { go } from '../../state/route'
import { notSaved } from '../../state/refusal'
import { ScheduleFields } from './schedule-form'
import { newRequest } from '../../parts/request-body'
import { addCommand, bodyOf } from './request-form'
import { useForm } from './use-form'
import { sentence } from './rule-text'

// NewSchedule is the form for a schedule that does not exist yet.
export function NewSchedule({ initial, opened, closed }: { initial: RuleText; opened: boolean; closed: () => void }) {
  const name = useSignal('')
  const paused = useSignal('')
  const title = name.value.trim()
  const form = useForm(initial, newRequest, title)
  const create = async () => {
    if (Object.keys(form.requestErrors).length > 0) throw notSaved
    const body = bodyOf(form.ruleText, form.requestText, paused.value !== '' || undefined)
    const created = await form.send(() => guarded(putSchedule({ name: title, ifNoneMatch: '*' }, body), 'A schedule with this name exists already.', 'name'))
    go('schedules', created.name)
    return `Schedule ${created.name} created. ${sentence(created.words, created)}`
  }
  const command = form.valid && title ? addCommand(title, form.ruleText, form.requestText, paused.value !== '') : null
  return (
    <Action label="New schedule" primary wide call={putSchedule} opened={opened} closed={closed} command={command ? foliot(...command) : ''} run={create}>
      <div class="form">
        <Field label="Name" value={name} error={form.nameError} required placeholder="nightly-report" hint="letters, digits and . _ : -, at most 200" />
        <Field label="State" value={paused} options={[['', 'active: creates tasks'], ['yes', 'paused: creates no tasks yet']]} />
      </div>
      <ScheduleFields of={form} masked={false} />
    </Action>
  )
}
