import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { createTask } from '../../api/openapi.gen'
import { foliot } from '../../format/command'
import { flag } from '../../format/rule'
import { full, millis, relative, wrongDuration } from '../../format/time'
import { Action } from '../../parts/action'
import { Field } from '../../parts/field'
import { bodyWith, newBodies, newFlags, newRequest, onlyFromFile } from '../../parts/request-body'
import { RequestFields } from '../../parts/request-fields'
import { requestIn, requestKeyOf, useRequest, wrongIn } from '../../parts/request-text'
import { TimeField } from '../../parts/time-field'
import { useNow } from '../../parts/time'
import { notSaved, useRefusal } from '../../state/refusal'
import { go } from '../../state/route'

const ways = [['delay', 'after a delay'], ['at', 'at a time']] as const

// NewTask is the form for a task.
export function NewTask() {
  const [name, way, delay, at] = [useSignal(''), useSignal('delay'), useSignal('30m'), useSignal('')]
  const request = useRequest(newRequest)
  const now = useNow()
  const typed = requestIn(request)
  const r = typed.work ? { ...typed, url: '', method: 'POST', headers: '', kind: typed.kind === 'json' ? 'json' : 'none' } : typed // a handler gets no request
  const own: { name: string; at?: string; delay?: string } = { name: name.value.trim(), ...(way.value === 'at' ? { at: at.value } : { delay: delay.value.trim() }) }
  const [refused, send] = useRefusal(JSON.stringify([own, r]), (field) => field in own || requestKeyOf(field) !== undefined)
  useEffect(() => {
    if (request.work.value && request.kind.value !== 'json') request.kind.value = 'none'
  }, [request.work.value])
  const refusedKey = requestKeyOf(refused?.field ?? '')
  const errors = { ...wrongIn(r), ...(refusedKey && { [refusedKey]: refused!.detail }) }
  const errorOf = (field: string) => (refused?.field === field ? refused.detail : undefined)
  const wrong = own.delay === undefined ? errorOf('at') : wrongDuration(own.delay) ?? errorOf('delay')
  const create = async () => {
    if (wrong || Object.keys(errors).length > 0) throw notSaved
    const made = await send(() => createTask({}, bodyWith(r, (task) => ({ ...own, name: own.name || undefined, ...task }))))
    go('task', made.name)
    return `Task ${made.name} is due at ${full(made.due_at)}.`
  }
  const valid = !wrong && Object.keys(errors).length === 0 && (r.work || r.url).trim() !== '' && (own.delay ?? own.at) !== '' && !onlyFromFile(r)
  const command = () => foliot('add', r.work ? flag('kind', r.work.trim()) : r.url.trim(), own.delay === undefined ? flag('at', own.at!) : flag('in', own.delay), own.name ? flag('name', own.name) : null, ...newFlags(r))
  return (
    <Action label="New task" primary wide call={createTask} command={valid ? command() : ''} run={create}>
      <div class="form">
        <Field label="Due" value={way} options={ways} />
        {way.value === 'at' ? <TimeField label="Time" value={at} error={wrong} required /> : <Field label="Delay" value={delay} error={wrong} required hint="such as 90s, 1h30m or 3d" />}
        <Due of={way.value === 'at' ? Date.parse(at.value) - now : millis(delay.value)} now={now} />
        <Field label="Name" value={name} error={errorOf('name')} placeholder="order-42-close" hint="to move or cancel it by; by default its id" />
        <Field label="Kind" value={request.work} error={errors.work} placeholder="close-order" hint="of a handler in a program, in place of a URL" />
      </div>
      <RequestFields of={request} errors={errors} kinds={newBodies} masked={false} />
    </Action>
  )
}

const latest = 864e13 // the last time of a browser

// Due shows when a delay ends.
function Due({ of: delay, now }: { of: number; now: number }) {
  const due = Math.ceil((now + delay) / 1000) * 1000
  if (delay < 0) return <p class="warn full">This time was {relative(due, now)}: the task is sent at once.</p>
  return due <= latest ? <p class="dim full">Due {relative(due, now)}, at {full(due)}.</p> : null
}
