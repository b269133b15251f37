import type { Attempt, Task } from '../../api/openapi.gen'
import { plural } from '../../format/number'
import { millis, parts, span } from '../../format/time'
import { Badge, type Tone } from '../../parts/badge'
import { Masked } from '../../parts/masked'
import { Panel } from '../../parts/panel'
import { errorText } from '../../parts/reply'
import { Time, useNow } from '../../parts/time'
import { snoozed, waited } from './read'

interface HistoryEvent {
  at: number
  title: string
  tone: Tone
  attempt?: Attempt
  future?: boolean
  many?: boolean // stands for several
}

// History shows what happened to a task, and what comes next: as a line, and as a list
// with the same data. Of the changes by clients, the record has the last one.
export function History({ of: task }: { of: Task }) {
  const now = useNow()
  const all = eventsOf(task, now)
  const first = task.attempts[0]?.number ?? 1
  return (
    <Panel title="History" aside={task.attempts.length > 0 && plural(task.attempts.at(-1)!.number, 'attempt')}>
      <Line of={shorten(all)} />
      {first > 1 && <p class="dim">Attempts 1 to {first - 1} are not kept: a record has the last 20.</p>}
      <ol class="history">
        {all.map((m) => m.title !== 'now' && (
          <li key={m.title + m.at} class={m.tone + (m.future ? ' future' : '')}>
            <div><b>{m.title}</b> <Time at={m.at} /></div>
            {m.attempt && <AttemptDetail of={m.attempt} />}
          </li>
        ))}
      </ol>
    </Panel>
  )
}

function eventsOf(t: Task, now: number): HistoryEvent[] {
  const out: HistoryEvent[] = [{ at: Date.parse(t.created_at), title: 'Created', tone: 'plain' }]
  const add = (at: string | number | undefined, title: string, tone: Tone) => {
    if (at === undefined) return
    const when = typeof at === 'number' ? at : Date.parse(at)
    out.push({ at: when, title, tone, future: when > now })
  }
  if (!t.finished_at || Date.parse(t.due_at) <= Date.parse(t.finished_at)) add(t.due_at, 'Due', 'wait') // before an attempt of the same millisecond
  for (const a of t.attempts) out.push({ at: Date.parse(a.started_at), title: `Attempt ${a.number}`, tone: toneOf(a), attempt: a })
  const change = changes[t.changed_action ?? '']
  if (change && t.changed_at && !(t.changed_action === 'task.cancel' && t.state === 'cancelled')) {
    if (t.changed_action === 'task.retry') addEnd(t, t.changed_at, out)
    add(t.changed_at, change, 'plain')
  }
  if (t.next_at && t.next_at !== t.due_at) add(t.next_at, Date.parse(t.next_at) <= now ? 'Due again' : waited(t) ? 'Next attempt' : 'Next', 'info')
  if (t.expire_after && millis(t.expire_after) > 0 && !t.finished_at && t.attempts.length === 0) add(Date.parse(t.due_at) + millis(t.expire_after), 'Expires', 'warn')
  if (t.finished_at) add(t.finished_at, t.state[0]!.toUpperCase() + t.state.slice(1), t.state === 'delivered' ? 'good' : t.state === 'dead' ? 'bad' : 'warn')
  else out.push({ at: now, title: t.state === 'running' ? 'Running' : 'now', tone: 'info' })
  return out.map((m, i) => ({ m, i })).sort((a, b) => a.m.at - b.m.at || a.i - b.i).map(({ m }) => m)
}

const changes: Record<string, string> = { 'task.patch': 'Changed', 'task.touch': 'Touched', 'task.run': 'Run now', 'task.retry': 'Retried', 'task.cancel': 'Cancelled' }

// addEnd adds the end before a retry, which the record does not keep: the end of the
// attempt before it.
function addEnd(t: Task, retried: string, out: HistoryEvent[]) {
  const last = t.attempts.findLast((a) => a.started_at < retried)
  if (!last) return
  const delivered = toneOf(last) === 'good'
  out.push({ at: Date.parse(last.started_at) + last.latency_ms, title: delivered ? 'Delivered' : 'Dead', tone: delivered ? 'good' : 'bad' })
}

export function toneOf(a: Attempt): Tone {
  if (a.status < 300 && !a.error) return 'good'
  return snoozed(a) ? 'warn' : 'bad'
}

// shorten replaces the events in the middle by one, so that the line is legible.
function shorten(all: HistoryEvent[]): HistoryEvent[] {
  if (all.length <= 8) return all
  const middle = all.slice(2, -5)
  return [...all.slice(0, 2), { at: middle[0]!.at, title: `${middle.length} more`, tone: 'plain', many: true }, ...all.slice(-5)]
}

// Line is a picture of the order of the events. Equal steps stand for spans of
// very different lengths, so each has its span above it.
function Line({ of }: { of: HistoryEvent[] }) {
  const x = (i: number) => 50 + (i * 900) / Math.max(1, of.length - 1)
  return (
    <svg class="task-line" viewBox="0 0 1000 76" role="img" aria-label="The history of the task. The list below has the same data.">
      {of.slice(1).map((m, i) => (
        <g key={i}>
          <line x1={x(i)} y1="36" x2={x(i + 1)} y2="36" class={m.future ? 'future' : ''} />
          <text x={(x(i) + x(i + 1)) / 2} y="24" class="span">{span(m.at - of[i]!.at)}</text>
        </g>
      ))}
      {of.map((m, i) => (
        <g key={i} class={m.tone}>
          <Mark x={x(i)} of={m} />
          <text x={x(i)} y="58">{m.title}</text>
          <text x={x(i)} y="72" class="span">{m.many ? '' : parts(m.at).clock}</text>
        </g>
      ))}
    </svg>
  )
}

// Mark shows the outcome by its shape too, not by its color alone.
function Mark({ x, of: m }: { x: number; of: HistoryEvent }) {
  if (m.title === 'now') return <path class="mark" d={`M${x} 26v20`} />
  if (m.tone === 'bad') return <path class="mark" d={`M${x - 5} 31l10 10m0-10l-10 10`} />
  if (m.tone === 'good') return <path class="mark" d={`M${x - 6} 36l4 5 8-10`} />
  return <circle class={m.future ? 'future' : ''} cx={x} cy="36" r="6" />
}

// lost reports whether the end of an attempt is unknown, because its server stopped.
const lost = (a: Attempt) => a.error?.startsWith('lost:') ?? false

function AttemptDetail({ of: a }: { of: Attempt }) {
  const text = errorText(a)
  const long = text.length > 45
  return (
    <>
      <p class="actions">
        <Badge tone={toneOf(a)}>{!long ? text : a.status ? `status ${a.status}` : 'failed'}</Badge>
        <span>late {span(a.late_ms)}{a.waited_ms > 0 && `, waited ${span(a.waited_ms)}`}</span>
        {!lost(a) && <span>{a.status ? 'replied' : 'ended'} after {span(a.latency_ms)}</span>}
      </p>
      {long && <p>{text}</p>}
      {a.reply && <div><Masked label="the first bytes of the reply"><pre tabIndex={0} aria-label={`Reply to attempt ${a.number}`}>{a.reply}</pre></Masked></div>}
    </>
  )
}
