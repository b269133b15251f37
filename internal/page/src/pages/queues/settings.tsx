import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { putQueue } from '../../api/openapi.gen'
import type { Tagged } from '../../api/queues'
import { foliot } from '../../format/command'
import { go } from '../../state/route'
import { Action } from '../../parts/action'
import { Field } from '../../parts/field'
import { changesOf, defaults, fill, inputOf, limits, newForm, retention, type Form, type Setting } from './form'

// SetLimits changes the settings of a queue. Without a queue it asks for a name and
// creates settings.
export function SetLimits({ of, done }: { of?: Tagged; done: () => void }) {
  const form = useMemo(newForm, [])
  const name = useSignal('')
  // The settings that the dialog began with, so that a change by others is refused.
  const before = useSignal<Tagged | null>(null)
  const queue = of?.queue.name ?? name.value.trim()
  const run = async () => {
    const tag = before.value?.queue.version ? before.value.tag : ''
    await putQueue({ queue, ...(tag ? { ifMatch: tag } : { ifNoneMatch: '*' }) }, inputOf(form))
    if (!of) go('queues', queue)
    return 'The settings of the queue are saved.'
  }
  return (
    <Action
      label={of ? 'Set limits' : 'Set limits of a queue'} title={of ? `Settings of ${queue}` : 'Settings of a queue'} call={putQueue} wide
      command={foliot('queue', 'set', queue || 'NAME', ...changesOf(form, before.value?.queue ?? null))} run={run} done={done}
    >
      <Fields form={form} queue={of} before={before} />
      {!of && <Field label="Name of the queue" value={name} required />}
      <p class="dim">An empty field is not set: no limit, or the server’s value. Limits and retention apply at once. Defaults apply to tasks that are created from now on.</p>
      <Group title="Limits" settings={limits} form={form} />
      <Group title="Retention" settings={retention} form={form} />
      <Group title="Defaults for tasks that do not set them" settings={defaults} form={form} />
    </Action>
  )
}

// Fields fills the form when the dialog opens.
function Fields({ form, queue, before }: { form: Form; queue?: Tagged; before: { value: Tagged | null } }) {
  useEffect(() => {
    before.value = queue ?? null
    fill(form, queue?.queue ?? null)
  }, [])
  return null
}

function Group({ title, settings, form }: { title: string; settings: Setting[]; form: Form }) {
  return (
    <fieldset>
      <legend>{title}</legend>
      <div class="form">
        {settings.map((s) => (
          <Field key={s.key} label={s.label} value={form[s.key]!} hint={s.hint} placeholder="not set" options={s.kind === 'flag' ? [['', 'no'], ['true', 'yes']] : undefined} />
        ))}
      </div>
    </fieldset>
  )
}
