import type { ComponentChild } from 'preact'
import { listTasks, type Schedule, type Task } from '../../api/openapi.gen'
import { millis, relative } from '../../format/time'
import { link } from '../../state/route'
import { serverNow } from '../../state/session'

// The last tasks of a schedule. The API lists tasks only forwards, and a task is due
// at its instant or later. So the search reads those that are due since a few
// instants ago, and goes further back only if they are not enough.

const pageSize = 200

export async function lastRuns(s: Schedule, n: number, signal: AbortSignal): Promise<Task[]> {
  for (const since of bounds(s, n)) {
    const due = since === undefined ? {} : { due_after: new Date(since).toISOString() }
    const { tasks, next_cursor } = await listTasks({ schedule: s.name, limit: pageSize, ...due }, undefined, signal)
    tasks.sort((a, b) => timeOf(a) - timeOf(b))
    if (tasks.length >= n || next_cursor || since === undefined) return tasks.slice(-n)
  }
  return []
}

function bounds(s: Schedule, n: number): (number | undefined)[] {
  if (!s.last_at) return [undefined]
  const last = Date.parse(s.last_at)
  const apart = s.every ? millis(s.every) : s.next_at ? Date.parse(s.next_at) - last : 36e5
  return [last - n * Math.min(apart, 30 * 864e5) - 1, last - 20 * n * Math.min(apart, 30 * 864e5), undefined]
}

export function timeOf(t: Task): number {
  return Date.parse(t.instant ?? t.created_at)
}

export function unfinished(t: Task): boolean {
  return t.state === 'scheduled' || t.state === 'held' || t.state === 'running'
}

const tones: Record<string, string> = { delivered: 'good', dead: 'bad', expired: 'warn', held: 'warn', cancelled: 'dim', running: 'info', scheduled: 'wait' }

// Dots shows results in their order, each as a shape and a color, with a sentence.
export function Dots({ of }: { of: Task[] }) {
  if (of.length === 0) return <span class="dim">no task yet</span>
  return (
    <span class="runs">
      {of.map((t) => {
        const about = `${t.state}${t.state === 'scheduled' && t.attempts.length ? ' for a retry' : ''}${t.reason && t.reason !== t.state ? ': ' + t.reason.replaceAll('_', ' ') : ''}, ${relative(timeOf(t), serverNow())}`
        return <a key={t.id} href={link('task', t.name)} title={about} class={tones[t.state] ?? ''}><Shape of={t.state} /><span class="sr">{about}</span></a>
      })}
      <span class="dim text">{summary(of)}</span>
    </span>
  )
}

// summary counts the states: 4 delivered, 1 dead.
function summary(of: Task[]): string {
  const counts = new Map<string, number>()
  for (const t of of) counts.set(t.state, (counts.get(t.state) ?? 0) + 1)
  return [...counts].map(([state, n]) => `${n} ${state}`).join(', ')
}

function Shape({ of }: { of: string }) {
  return <svg class="run" viewBox="0 0 16 16" aria-hidden="true">{shapes[of] ?? shapes.scheduled}</svg>
}

const shapes: Record<string, ComponentChild> = {
  delivered: <><circle class="full" cx="8" cy="8" r="6.5" /><path class="mark" d="M5 8.2l2.2 2.2L11.2 6" /></>,
  dead: <><rect class="full" x="2" y="2" width="12" height="12" rx="1.5" /><path class="mark" d="M5.5 5.5l5 5M10.5 5.5l-5 5" /></>,
  expired: <><path class="full" d="M8 2l6.5 12h-13z" /><path class="mark" d="M8 7v3M8 12v.01" /></>,
  cancelled: <path d="M3 13L13 3M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2" />,
  held: <path d="M5.5 3v10M10.5 3v10" />,
  running: <><circle cx="8" cy="8" r="6" /><path class="full" d="M6.5 5.2l4.5 2.8-4.5 2.8z" /></>,
  scheduled: <><circle cx="8" cy="8" r="6" /><path d="M8 4.5V8h2.5" /></>,
}
