import { useRef } from 'preact/hooks'
import type { ComponentChildren } from 'preact'
import { getQueue, getSchedule, readyz, type Problem, type Task as Record } from '../../api/openapi.gen'
import { Refusal } from '../../api/call'
import { foliot } from '../../format/command'
import { State, stateReason } from '../../parts/badge'
import { Command } from '../../parts/command'
import { Icon } from '../../parts/icon'
import { Empty, ProblemNote } from '../../parts/notice'
import { lastOf, useCredentials } from '../../parts/reply'
import { authors } from '../../parts/authors'
import { Facts, Head, Panel } from '../../parts/panel'
import { Time, useNow } from '../../parts/time'
import { Actions } from './actions'
import { CopyAs } from './copy-as'
import { Edit } from './edit'
import { History, toneOf } from './history'
import { readTask, type TaskRead } from './read'
import { Request } from './request'
import { notes, why, type Context } from './why'
import { useData } from '../../state/data'
import { link } from '../../state/route'
import { frozen } from '../../state/settings'

// Task shows one task: why it has not been sent, its request, and its history.
export function Task({ name }: { name: string }) {
  const last = useRef<{ read: TaskRead; turn: number } | null>(null)
  const data = useData(!name ? null : async (signal) => {
    const known = last.current
    // A task that has ended rarely changes: it is read every fifth time.
    if (known && (frozen.peek() || (known.read.task.finished_at && ++known.turn % 5 !== 0))) return known.read
    const read = await readTask(name, signal)
    last.current = { read, turn: 0 }
    return read
  }, [name], 2000)
  const reload = () => ((last.current = null), data.reload())
  if (!name) return <><Head title="Task" /><Empty title="No task is selected."><a href={link('tasks')}>Open Tasks</a> and select one.</Empty></>
  if (data.problem?.status === 404) return <Missing name={name} />
  return (
    <>
      <Head title={name} about={data.value && <State of={data.value.task.state} reason={stateReason(data.value.task)} />}>
        {data.value && <Buttons read={data.value} reload={reload} />}
      </Head>
      <ProblemNote problem={data.problem} />
      {data.value ? <TaskDetails read={data.value} /> : data.loading && <p class="loading" role="status">Loading…</p>}
    </>
  )
}

function Buttons({ read, reload }: { read: TaskRead; reload: () => void }) {
  const queue = useData((signal) => getQueue({ queue: read.task.queue }, undefined, signal), [read.task.queue])
  return <><Edit read={read} done={reload} /><CopyAs read={read} /><Actions task={read.task} queue={queue.value} done={reload} /></>
}

function Missing({ name }: { name: string }) {
  const origin = /^(.+)@\d+/.exec(name)?.[1]
  return (
    <>
      <Head title={name} />
      <Panel title="No such task">
        <Empty title={`There is no task named ${name}.`} command={foliot('ls', '--prefix', name.slice(0, 8))}>
          It was never created in this namespace, or its record was removed: records of finished tasks are kept for a limited time. <a href={link('tasks')}>Open Tasks</a>{origin && <>, or <a href={link('schedules', origin)}>the schedule {origin}</a></>}.
        </Empty>
      </Panel>
    </>
  )
}

function TaskDetails({ read }: { read: TaskRead }) {
  const { task } = read
  return (
    <>
      <Reason task={task} />
      <div class="grid">
        <div class="two-thirds stack"><History of={task} /><Request read={read} /></div>
        <div class="third stack"><Panel title="Details"><Facts of={facts(task)} /></Panel></div>
      </div>
      <Command text={foliot('get', task.name)} />
    </>
  )
}

// Reason says in one sentence why the task has not been sent, or how it ended.
function Reason({ task }: { task: Record }) {
  const now = useNow()
  const unfinished = !task.finished_at
  const schedule = useData(async (signal) => (task.schedule && unfinished ? await getSchedule({ name: task.schedule }, undefined, signal) : null), [task.schedule, unfinished])
  const ready = useData((signal) => (unfinished ? readyz({}, undefined, signal).then(() => null, unready) : Promise.resolve(null)), [unfinished], 5000)
  const due = task.state === 'scheduled' && Date.parse(task.next_at ?? task.due_at) < now - 3000
  const dead = task.state === 'dead'
  const credentials = useCredentials(task.queue, dead || (task.state === 'scheduled' && !due) ? lastOf(task) : undefined)
  const context: Context = { now, schedule: schedule.value, unready: ready.value }
  const w = { ...why(task, context), ...credentials }
  const more = notes(task, context)
  const last = lastOf(task)
  const reply = last && toneOf(last) !== 'good' && last.reply?.trim()
  return (
    <section class={'why ' + w.tone} aria-label={unfinished ? 'Why it has not been sent' : 'How it ended'}>
      <p class="first"><Icon name={w.tone} /> <span>{w.text}</span></p>
      {reply && <p>The receiver replied: <q class="mono">{reply.length > 200 ? reply.slice(0, 200) + '…' : reply}</q></p>}
      {(w.remedy || w.to) && <p>{w.remedy}{credentials && dead && ' Then use Retry.'} {w.to && <a href={w.to.href}>{w.to.text}</a>}</p>}
      {more.length > 0 && <ul>{more.map((text) => <li key={text}>{text}</li>)}</ul>}
    </section>
  )
}

function unready(err: unknown): Problem | null {
  if (err instanceof Refusal && err.problem.status === 503) return err.problem
  return null
}

function facts(t: Record): [string, ComponentChildren][] {
  const labels = Object.entries(t.labels ?? {})
  const r = t.retry
  const all: [string, ComponentChildren][] = [
    ['Queue', <a href={link('queues', t.queue)}>{t.queue}</a>],
    ['Due', <Time at={t.due_at} mode={t.finished_at ? 'full' : 'both'} />], // an ended task is due no more
    [t.delay ? 'Delay' : 'Created with', t.delay || 'a due time'],
    ['Priority', t.priority],
    ['Labels', labels.length ? <span class="labels">{labels.map(([k, v]) => <a key={k} href={link('tasks', '', { label: `${k}=${v}` })}>{k}={v}</a>)}</span> : undefined],
    ['Schedule', t.schedule && <a href={link('schedules', t.schedule)}>{t.schedule}</a>],
    ['Instant', t.instant && <Time at={t.instant} />],
    ['Max attempts', r.max_attempts || 'no limit'],
    ['Min backoff', r.min_backoff ?? ''],
    ['Max backoff', r.max_backoff ?? ''],
    ['Max age', r.max_age === '0s' ? 'no limit' : r.max_age ?? ''],
    ['Timeout', t.timeout],
    ['Expire after', t.expire_after && t.expire_after !== '0s' ? t.expire_after : 'never'],
    ['Id', <code>{t.id}</code>],
    ['Version', t.version],
    ...authors(t),
    ['Traceparent', t.traceparent && <code>{t.traceparent}</code>],
  ]
  return all.filter(([, value]) => value !== undefined)
}
