import { useSignal } from '@preact/signals'
import { backfillSchedule, deleteSchedule, pauseSchedule, previewSchedule, putSchedule, resumeSchedule, triggerSchedule, type Schedule } from '../../api/openapi.gen'
import { foliot } from '../../format/command'
import { count, plural } from '../../format/number'
import { ruleTextOf, used, zoneOfRule } from '../../format/rule'
import { localText } from '../../format/wall'
import { Action, ActionButton } from '../../parts/action'
import { TimeField } from '../../parts/time-field'
import { ProblemNote } from '../../parts/notice'
import { useLatest, useSettled } from '../../state/latest'
import { go, link } from '../../state/route'
import { serverNow } from '../../state/session'
import { EditSchedule } from './edit'

// ScheduleActions has everything that can be done with one schedule.
export function ScheduleActions({ of: s, done }: { of: Schedule; done: () => void }) {
  const editing = useSignal(false)
  return (
    <>
      <Action label="Trigger" call={triggerSchedule} command={foliot('cron', 'trigger', s.name)} done={done} run={async () => `Task ${(await triggerSchedule({ name: s.name })).name} created`}>
        <p>This creates one task that is due now{s.paused ? ', even though the schedule is paused' : ''}. The next instant stays the same, and the task does not count for max runs.</p>
        {s.overlap !== 'allow' && <p>Until this task ends, instants {s.overlap === 'skip' ? 'create no tasks' : 'wait'}, because overlap is <code>{s.overlap}</code>.</p>}
      </Action>
      {s.paused
        ? <Action label="Resume" call={resumeSchedule} command={foliot('cron', 'set', s.name, '--no-paused')} done={done} run={async () => ((await resumeSchedule({ name: s.name })), `${s.name} is active`)}>
            <p>The schedule continues with its next instant. The instants of the pause create no tasks: use Backfill for those.</p>
          </Action>
        : <Action label="Pause" call={pauseSchedule} command={foliot('cron', 'set', s.name, '--paused')} done={done} run={async () => ((await pauseSchedule({ name: s.name })), `${s.name} is paused`)}>
            <p>The schedule creates no tasks until you resume it. Its existing tasks are still sent.{s.waiting_at ? ' The instant that waits is discarded.' : ''}</p>
          </Action>}
      <BackfillAction of={s} done={done} />
      <ActionButton label="Edit" call={putSchedule} open={() => (editing.value = true)} />
      {editing.value && <EditSchedule of={s.name} closed={() => (editing.value = false)} done={done} />}
      <a class="button" href={link('simulator', '', Object.fromEntries(used(ruleTextOf(s))))}>Open in the simulator</a>
      <Action label="Delete" danger call={deleteSchedule} command={foliot('cron', 'rm', s.name)} run={async () => {
        await deleteSchedule({ name: s.name })
        go('schedules')
        return `Schedule ${s.name} deleted`
      }}>
        <p>This deletes the schedule <b>{s.name}</b>. It creates no more tasks.</p>
        <p>Its tasks stay: those that wait are still sent. To cancel them too:</p>
        <p><code>{foliot('cancel', '--schedule=' + s.name)}</code></p>
      </Action>
    </>
  )
}

const maxBackfill = 1000

// Backfill creates the tasks of a time in the past. It shows their number first.
function BackfillAction({ of: s, done }: { of: Schedule; done: () => void }) {
  const from = useSignal('')
  const until = useSignal(new Date(Math.floor(serverNow() / 1000) * 1000).toISOString().replace('.000Z', 'Z'))
  return (
    <Action
      label="Backfill" title={'Backfill ' + s.name} call={backfillSchedule} done={done}
      command={Date.parse(from.value) <= Date.parse(until.value) ? foliot('cron', 'backfill', s.name, '--from=' + from.value, '--until=' + until.value) : ''}
      run={async () => {
        const r = await backfillSchedule({ name: s.name }, { from: from.value, until: until.value })
        return `${plural(r.created, 'task')} created${r.existing ? `, ${r.existing} existed already` : ''}`
      }}
    >
      <p>This creates a task for each instant between From and Until, including instants that have already fired. All these tasks are due now. Another backfill of the same times creates no task twice.</p>
      {s.every && !s.start && <p>The rule has no start, so it has no instants before the schedule was created.</p>}
      <div class="form">
        <TimeField label="From" value={from} zone={zoneOfRule(s)} required />
        <TimeField label="Until" value={until} zone={zoneOfRule(s)} required />
      </div>
      <BackfillCount of={s} from={from.value} until={until.value} />
    </Action>
  )
}

function BackfillCount({ of: s, from, until }: { of: Schedule; from: string; until: string }) {
  const key = useSettled(from + ' ' + until)
  const [a, b] = key.split(' ') as [string, string]
  const { value, problem } = useLatest(a && b ? async (signal) => {
    const { instants } = await previewSchedule({ name: s.name, from: a, limit: maxBackfill }, undefined, signal)
    const within = instants.filter((i) => Date.parse(i.at) <= Date.parse(b))
    return { n: within.length, first: within[0], last: within.at(-1), more: within.length === maxBackfill }
  } : null, [key])
  if (problem) return <ProblemNote problem={problem} />
  if (!from || !until) return <p class="dim">Select both times to see the number of tasks.</p>
  if (Date.parse(from) > Date.parse(until)) return <p class="bad" role="status">From must not be later than Until.</p>
  if (!value || key !== from + ' ' + until) return <p class="dim" role="status">Counting the instants…</p>
  if (value.n === 0) return <p role="status"><b>0 tasks.</b> The rule has no instant in this time.</p>
  return (
    <p role="status">
      <b>{value.more ? `${count(maxBackfill)} tasks or more.` : `${plural(value.n, 'task')}.`}</b> The first instant is {localText(value.first!.local)}, the last {value.more ? 'counted instant is ' : 'is '}{localText(value.last!.local)}.
      {value.more && ' One backfill creates at most 1,000 tasks: the server refuses more.'}
    </p>
  )
}
