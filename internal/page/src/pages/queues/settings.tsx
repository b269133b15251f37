import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { guarded } from '../../api/call'
import { putQueue, type Problem } from '../../api/openapi.gen'
import { readQueue, type Tagged } from '../../api/queues'
import { foliot } from '../../format/command'
import { problemOf } from '../../state/data'
import { go } from '../../state/route'
import { Action } from '../../parts/action'
import { Field } from '../../parts/field'
import { ProblemNote } from '../../parts/notice'
import { notSaved, useRefusal } from '../../state/refusal'
import { changesOf, defaults, errorsIn, fill, inputOf, limits, newForm, retention, settingOf, type Form, type Setting } from './form'

// EditSettings changes the settings of a queue. Without a queue it asks for a name and
// creates settings.
export function EditSettings({ name: given, done }: { name?: string; done: () => void }) {
  const form = useMemo(newForm, [])
  const name = useSignal('')
  // The settings that the dialog began with, so that a change by others is refused.
  const before = useSignal<Tagged | null>(null)
  const queue = given ?? name.value.trim()
  const [refused, send] = useRefusal(JSON.stringify([queue, inputOf(form)]), (field) => settingOf(field) !== undefined)
  const errors = { ...errorsIn(form), ...(refused && { [settingOf(refused.field!)!]: refused.detail }) }
  const wrong = Object.keys(errors).length > 0
  const run = async () => {
    if (wrong) throw notSaved
    const tag = before.value?.queue.version ? before.value.tag : ''
    const todo = given ? `Another user has changed the settings of ${queue}. Close this dialog, and open it again.` : 'This queue has settings already. Open its page to edit them.'
    await send(() => guarded(putQueue({ queue, ...(tag ? { ifMatch: tag } : { ifNoneMatch: '*' }) }, inputOf(form)), todo))
    if (!given) go('queues', queue)
    return 'The settings of the queue are saved.'
  }
  return (
    <Action
      label={given ? 'Edit settings' : 'Create queue settings'} title={given ? `Settings of ${given}` : undefined} call={putQueue} wide
      command={queue && !wrong ? foliot('queue', 'set', queue, ...changesOf(form, before.value?.queue ?? null)) : ''} run={run} done={done}
    >
      <Start form={form} queue={given} before={before} />
      {!given && <Field label="Name of the queue" value={name} required />}
      <p class="dim">An empty field takes its default. Limits apply at once, retention to tasks that end from now on, and defaults to tasks that are created from now on.</p>
      <Group title="Limits" settings={limits} form={form} errors={errors} />
      <Group title="Retention" settings={retention} form={form} errors={errors} />
      <Group title="Defaults for tasks that do not set them" settings={defaults} form={form} errors={errors} />
    </Action>
  )
}

// Start reads the settings and fills the form when the dialog opens. Until then a save
// is refused, because it has no version.
function Start({ form, queue, before }: { form: Form; queue?: string; before: { value: Tagged | null } }) {
  const problem = useSignal<Problem | null>(null)
  useEffect(() => {
    before.value = null
    fill(form, null)
    const stop = new AbortController()
    if (queue) readQueue(queue, stop.signal).then((read) => fill(form, (before.value = read).queue), (err) => !stop.signal.aborted && (problem.value = problemOf(err)))
    return () => stop.abort()
  }, [])
  return <ProblemNote problem={problem.value?.status === 404 ? null : problem.value} />
}

function Group({ title, settings, form, errors }: { title: string; settings: Setting[]; form: Form; errors: Record<string, string> }) {
  return (
    <fieldset>
      <legend>{title}</legend>
      <div class="form">
        {settings.map((s) => (
          <Field key={s.key} label={s.label} value={form[s.key]!} error={errors[s.key]} hint={s.hint} placeholder={`default (${s.fallback})`} options={s.kind === 'flag' ? [['', 'no'], ['true', 'yes']] : undefined} />
        ))}
      </div>
    </fieldset>
  )
}
