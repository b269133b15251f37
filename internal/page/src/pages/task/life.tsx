import type { Attempt, Task } from '../../api/openapi.gen'
import { plural } from '../../format/number'
import { millis, parts, span } from '../../format/time'
import { Badge, type Tone } from '../../parts/badge'
import { Masked } from '../../parts/masked'
import { Panel } from '../../parts/panel'
import { Time, useNow } from '../../parts/time'
import { deferred, waited } from './read'

interface Moment {
  at: number
  title: string
  tone: Tone
  attempt?: Attempt
  still?: boolean // in the future
  many?: boolean // stands for several attempts
}

// Life shows what happened to a task, and what comes next: as a line, and as a list
// with the same data.
export function Life({ of: task }: { of: Task }) {
  const now = useNow()
  const all = moments(task, now)
  const first = task.attempts[0]?.number ?? 1
  return (
    <Panel title="Life" aside={task.attempts.length > 0 && plural(task.attempts.at(-1)!.number, 'attempt')}>
      <Line of={short(all)} />
      {first > 1 && <p class="dim">Attempts 1 to {first - 1} are not kept: a record has the last 20.</p>}
      <ol class="life">
        {all.map((m) => m.title !== 'now' && (
          <li key={m.title + m.at} class={m.tone + (m.still ? ' still' : '')}>
            <div><b>{m.title}</b> <Time at={m.at} /></div>
            {m.attempt && <One of={m.attempt} />}
          </li>
        ))}
      </ol>
    </Panel>
  )
}

function moments(t: Task, now: number): Moment[] {
  const out: Moment[] = [{ at: Date.parse(t.created_at), title: 'Created', tone: 'plain' }]
  const add = (at: string | number | undefined, title: string, tone: Tone) => {
    if (at === undefined) return
    const when = typeof at === 'number' ? at : Date.parse(at)
    out.push({ at: when, title, tone, still: when > now })
  }
  add(t.due_at, 'Due', 'wait')
  for (const a of t.attempts) out.push({ at: Date.parse(a.started_at), title: `Attempt ${a.number}`, tone: toneOf(a), attempt: a })
  if (t.next_at && t.next_at !== t.due_at) add(t.next_at, waited(t) ? 'Next attempt' : 'Next', 'info')
  if (t.expire_after && millis(t.expire_after) > 0 && !t.finished_at && t.attempts.length === 0) add(Date.parse(t.due_at) + millis(t.expire_after), 'Expires', 'warn')
  if (t.finished_at) add(t.finished_at, t.state[0]!.toUpperCase() + t.state.slice(1), t.state === 'delivered' ? 'good' : t.state === 'dead' ? 'bad' : 'warn')
  else out.push({ at: now, title: t.state === 'running' ? 'Under way' : 'now', tone: 'info' })
  return out.map((m, i) => ({ m, i })).sort((a, b) => a.m.at - b.m.at || a.i - b.i).map(({ m }) => m)
}

function toneOf(a: Attempt): Tone {
  if (a.status >= 200 && a.status < 300) return 'good'
  return deferred(a) ? 'warn' : 'bad'
}

// short replaces the attempts in the middle by one moment, so that the line is legible.
function short(all: Moment[]): Moment[] {
  const attempts = all.filter((m) => m.attempt)
  if (attempts.length <= 4) return all
  const hidden = new Set(attempts.slice(1, -2))
  let put = false
  return all.flatMap((m) => {
    if (!hidden.has(m)) return [m]
    if (put) return []
    put = true
    return [{ ...m, title: plural(hidden.size, 'attempt'), many: true }]
  })
}

// Line is a picture of the order of the moments. Equal steps stand for spans of
// very different lengths, so each has its span above it.
function Line({ of }: { of: Moment[] }) {
  const x = (i: number) => 50 + (i * 900) / Math.max(1, of.length - 1)
  return (
    <svg class="lifeline" viewBox="0 0 1000 76" role="img" aria-label="The life of the task. The list below has the same data.">
      {of.slice(1).map((m, i) => (
        <g key={i}>
          <line x1={x(i)} y1="36" x2={x(i + 1)} y2="36" class={m.still ? 'still' : ''} />
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
function Mark({ x, of: m }: { x: number; of: Moment }) {
  if (m.title === 'now') return <path class="mark" d={`M${x} 26v20`} />
  if (m.tone === 'bad') return <path class="mark" d={`M${x - 5} 31l10 10m0-10l-10 10`} />
  if (m.tone === 'good') return <path class="mark" d={`M${x - 6} 36l4 5 8-10`} />
  return <circle class={m.still ? 'still' : ''} cx={x} cy="36" r="6" />
}

function One({ of: a }: { of: Attempt }) {
  const tone = toneOf(a)
  return (
    <>
      <p class="actions">
        <Badge tone={tone}>{a.status ? `status ${a.status}` : 'no reply'}</Badge>
        <span>late {span(a.late_ms)}</span>
        <span>{a.status ? 'replied' : 'ended'} after {span(a.latency_ms)}</span>
      </p>
      {a.error && <p class="error">{a.error}</p>}
      {a.reply && <div><Masked label="the first bytes of the reply"><pre tabIndex={0} aria-label={`Reply to attempt ${a.number}`}>{a.reply}</pre></Masked></div>}
    </>
  )
}
