import { useRef } from 'preact/hooks'
import type { ComponentChildren } from 'preact'
import { cluster, getQueue, getSchedule, listAudit, readyz, type Problem, type Task as Record } from '../../api/openapi.gen'
import { Refusal } from '../../api/call'
import { foliot } from '../../format/command'
import { State } from '../../parts/badge'
import { Command } from '../../parts/copy'
import { Icon } from '../../parts/icon'
import { Empty, ProblemNote } from '../../parts/notice'
import { Facts, Head, Panel } from '../../parts/panel'
import { Table } from '../../parts/table'
import { Time, useNow } from '../../parts/time'
import { Actions } from './actions'
import { Again } from './again'
import { Edit } from './edit'
import { Life } from './life'
import { readTask, type TaskRead } from './read'
import { Request } from './request'
import { notes, why, type Context } from './why'
import { useData } from '../../state/data'
import { useLive } from '../../state/live'
import { link } from '../../state/route'
import { forbidden, me, namespace, operator } from '../../state/session'
import { frozen } from '../../state/settings'

// Task shows one task: why it has not been sent, its request, and its life.
export function Task({ name }: { name: string }) {
  const last = useRef<{ read: TaskRead; turn: number } | null>(null)
  const data = useData(async (signal) => {
    const known = last.current
    // A task that has ended rarely changes: it is read every fifth time.
    if (known && (frozen.peek() || (known.read.task.finished_at && ++known.turn % 5 !== 0))) return known.read
    const read = await readTask(name, signal)
    last.current = { read, turn: 0 }
    return read
  }, [name], 2000)
  const reload = () => ((last.current = null), data.reload())
  if (data.problem?.status === 404) return <Missing name={name} />
  if (!name) return <><Head title="Task" /><Empty title="No task is selected."><a href={link('tasks')}>Open Tasks</a> and select one.</Empty></>
  return (
    <>
      <Head title={name} about={data.value && <State of={data.value.task.state} reason={data.value.task.held_by ?? data.value.task.reason} />}>
        {data.value && <Buttons read={data.value} reload={reload} />}
      </Head>
      <ProblemNote problem={data.problem} />
      {data.value ? <Whole read={data.value} /> : data.loading && <p class="loading" role="status">Loading…</p>}
    </>
  )
}

function Buttons({ read, reload }: { read: TaskRead; reload: () => void }) {
  const queue = useData((signal) => getQueue({ queue: read.task.queue }, undefined, signal), [read.task.queue])
  return <><Edit read={read} done={reload} /><Again read={read} /><Actions task={read.task} queue={queue.value} done={reload} /></>
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

function Whole({ read }: { read: TaskRead }) {
  const { task } = read
  return (
    <>
      <Reason task={task} />
      <div class="grid">
        <div class="two-thirds stack"><Life of={task} /><Request read={read} /></div>
        <div class="third stack"><Panel title="Facts"><Facts of={facts(task)} /></Panel></div>
        <div class="wide"><Changes task={task} /></div>
      </div>
      <Command text={foliot('get', task.name)} />
    </>
  )
}

// Reason says in one sentence why the task has not been sent, or how it ended.
function Reason({ task }: { task: Record }) {
  const now = useNow()
  const live = useLive()
  const open = !task.finished_at
  const queue = useData((signal) => getQueue({ queue: task.queue }, undefined, signal), [task.queue], 5000)
  const schedule = useData(async (signal) => (task.schedule && open ? await getSchedule({ name: task.schedule }, undefined, signal) : null), [task.schedule, open])
  const nodes = useData(async (signal) => (operator.value && open && me.value?.store === 'shared' ? await cluster({}, undefined, signal) : null), [open], 5000)
  const ready = useData((signal) => (open ? readyz({}, undefined, signal).then(() => null, unready) : Promise.resolve(null)), [open], 5000)
  const context: Context = {
    now, live, queue: queue.value, schedule: schedule.value, cluster: nodes.value, unready: ready.value,
    namespace: namespace.value || (me.value?.namespace ?? 'default'),
  }
  const w = why(task, context)
  const more = notes(task, context)
  return (
    <section class={'why ' + w.tone} aria-label={open ? 'Why it has not been sent' : 'How it ended'}>
      <p class="first"><Icon name={w.tone} /> <span>{w.text}</span></p>
      {(w.remedy || w.to) && <p>{w.remedy} {w.to && <a href={w.to.href}>{w.to.text}</a>}</p>}
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
    ['Due', <Time at={t.due_at} />],
    [t.delay ? 'Delay' : 'Created with', t.delay ?? 'a due time'],
    ['Priority', t.priority],
    ['Labels', labels.length ? <span class="labels">{labels.map(([k, v]) => <a key={k} href={link('tasks', '', { label: `${k}=${v}` })}>{k}={v}</a>)}</span> : undefined],
    ['Schedule', t.schedule && <a href={link('schedules', t.schedule)}>{t.schedule}</a>],
    ['Instant', t.instant && <Time at={t.instant} />],
    ['Attempts', r.max_attempts ? `at most ${r.max_attempts}` : 'no limit'],
    ['Wait between', `${r.min_backoff} to ${r.max_backoff}`],
    ['Maximum age', r.max_age === '0s' ? 'no limit' : r.max_age],
    ['Timeout', t.timeout],
    ['Expires after', t.expire_after && t.expire_after !== '0s' ? t.expire_after : 'never'],
    ['Id', <code>{t.id}</code>],
    ['Version', t.version],
    ['Traceparent', t.traceparent && <code>{t.traceparent}</code>],
  ]
  return all.filter(([, value]) => value !== undefined)
}

// Changes shows the audit log of the task.
function Changes({ task }: { task: Record }) {
  const reason = forbidden(listAudit)
  const data = useData(async (signal) => (reason ? null : await listAudit({ target: task.name, limit: 50 }, undefined, signal)), [task.name, task.version, task.state])
  const entries = data.value?.entries.filter((e) => e.action.startsWith('task.')) ?? []
  return (
    <Panel title="Audit log">
      {reason ? <p class="dim">{reason}</p> : <>
        <ProblemNote problem={data.problem} />
        <Table
          caption="Changes of this task" keys={false} rows={entries} id={(e) => e.at + e.action + e.version}
          columns={[
            { title: 'When', cell: (e) => <Time at={e.at} /> },
            { title: 'Action', cell: (e) => <span>{e.action}{e.id && e.id !== task.id ? ' (an earlier task of this name)' : ''}</span> },
            { title: 'By', cell: (e) => <span>{e.by} <small class="dim">{e.addr}</small></span> },
            { title: 'Detail', cell: (e) => e.detail ?? '' },
            { title: 'Version', number: true, cell: (e) => e.version ?? '' },
          ]}
          empty={data.value ? <p class="dim">The log has no entry of this task: entries are removed when their retention ends.</p> : undefined}
        />
        <Command text={foliot('audit', '--target', task.name)} />
      </>}
    </Panel>
  )
}
