import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { guarded, request as sendRequest } from '../../api/call'
import { putSchedule, type Problem, type Schedule } from '../../api/openapi.gen'
import { foliot } from '../../format/command'
import { ruleTextOf } from '../../format/rule'
import { Confirm } from '../../parts/action'
import { Dialog } from '../../parts/dialog'
import { ProblemNote } from '../../parts/notice'
import type { RequestText } from '../../parts/request-text'
import { problemOf } from '../../state/data'
import { notSaved } from '../../state/refusal'
import { ScheduleFields } from './schedule-form'
import { bodyOf, requestOf, setCommand } from './request-form'
import { useForm } from './use-form'
import { sentence } from './rule-text'

// EditSchedule changes a schedule. It reads the schedule again, so that the change
// is refused only if another one was made in the meantime.
export function EditSchedule({ of, closed, done }: { of: string; closed: () => void; done: () => void }) {
  const read = useSignal<{ schedule: Schedule; request: RequestText } | null>(null)
  const problem = useSignal<Problem | null>(null)
  useEffect(() => {
    const stop = new AbortController()
    readSchedule(of, stop.signal).then((r) => (read.value = r), (err) => !stop.signal.aborted && (problem.value = problemOf(err)))
    return () => stop.abort()
  }, [])
  if (problem.value) return <Dialog title={'Edit ' + of} onClose={closed}><ProblemNote problem={problem.value} /></Dialog>
  return read.value && <EditForm {...read.value} closed={closed} done={done} />
}

async function readSchedule(name: string, signal: AbortSignal): Promise<{ schedule: Schedule; request: RequestText }> {
  const reply = await (await sendRequest('GET', 'v1/schedules/' + encodeURIComponent(name), {}, undefined, signal)).text()
  const schedule = JSON.parse(reply) as Schedule
  return { schedule, request: requestOf(schedule, reply) }
}

function EditForm({ schedule: s, request: before, closed, done }: { schedule: Schedule; request: RequestText; closed: () => void; done: () => void }) {
  const form = useForm(ruleTextOf(s), before, s.name)
  const save = async () => {
    if (Object.keys(form.requestErrors).length > 0) throw notSaved
    const body = bodyOf(form.ruleText, form.requestText, undefined)
    const todo = `Another user has changed ${s.name}. Close this dialog, and open it again.`
    const saved = await form.send(() => guarded(putSchedule({ name: s.name, ifMatch: `"${s.id}.${s.version}"` }, body), todo))
    return `Saved. ${sentence(saved.words, saved)}`
  }
  const command = form.valid ? setCommand(s, before, form.ruleText, form.requestText) : null
  return (
    <Confirm label="Save" title={'Edit ' + s.name} wide call={putSchedule} onClose={closed} done={done} command={command ? foliot(...command) : ''} run={save}>
      <p>Existing tasks do not change. If the instants change, the schedule continues with the first new instant from now on.</p>
      <ScheduleFields of={form} masked={Boolean(before.headers || before.kind !== 'none')} />
    </Confirm>
  )
}
