import { listTasks, type Schedule, type Task } from '../../api/openapi.gen'
import { readPages } from '../../api/pages'
import { millis, relative } from '../../format/time'
import { Icon } from '../../parts/icon'
import { link } from '../../state/route'
import { serverNow } from '../../state/session'

// The last tasks of a schedule. The API lists tasks only forwards, by name, and the name
// of a task has the milliseconds of its instant or its trigger. So the search reads the
// tasks whose names begin like the present time: first those of a short time, then more.
// A trigger with an idempotency key has the time of the schedule's creation instead.

const most = 200 // tasks of one reading
const ahead = 1000 // milliseconds: the clock of the page can be behind that of the server

export async function lastTasks(s: Schedule, n: number, signal: AbortSignal): Promise<Task[]> {
  const now = digits(serverNow() + ahead)
  const short = Math.max(1, now.length - Math.ceil(Math.log10(n * apart(s))))
  let found: Task[] = []
  for (const length of new Set([short, short - 1, 0])) {
    found = await lastOf(s.name, now.slice(0, length), n, signal)
    if (found.length >= n) break
  }
  return found
}

const digits = (time: number) => String(Math.floor(time))

// lastOf returns the last n tasks of those with a time that begins with some digits. If
// these are too many to read, it divides them by the next digit, and begins with the
// latest: only a list that was read to its end has the last tasks.
async function lastOf(schedule: string, start: string, n: number, signal: AbortSignal): Promise<Task[]> {
  const now = digits(serverNow() + ahead)
  const single = start.length >= now.length // the tasks of one millisecond
  const { items, next } = await readPages('tasks', single ? Infinity : most, undefined, (page) => listTasks({ schedule, prefix: `${schedule}@${start}`, ...page }, undefined, signal))
  if (single || !next) return items.sort((a, b) => timeOf(a) - timeOf(b)).slice(-n)
  let found: Task[] = []
  for (let digit = now.startsWith(start) ? Number(now[start.length]) : 9; digit >= 0 && found.length < n; digit--) {
    found = [...(await lastOf(schedule, start + digit, n - found.length, signal)), ...found]
  }
  return found
}

// apart returns the milliseconds between two instants of a schedule, roughly.
function apart(s: Schedule): number {
  if (s.every) return millis(s.every)
  return s.last_at && s.next_at ? Math.max(1000, Date.parse(s.next_at) - Date.parse(s.last_at)) : 36e5
}

export function timeOf(t: Task): number {
  return Date.parse(t.instant ?? t.created_at)
}

export function unfinished(t: Task): boolean {
  return t.state === 'scheduled' || t.state === 'held' || t.state === 'running'
}

const looks: Record<string, [tone: string, icon: string]> = {
  delivered: ['good', 'good'], dead: ['bad', 'bad'], expired: ['warn', 'warn'], held: ['warn', 'pause'], cancelled: ['dim', 'close'], running: ['info', 'play'], scheduled: ['wait', 'wait'],
}

// backfilled reports whether a task was created long after its instant: by a backfill, or
// because the instant was missed.
const backfilled = (t: Task) => Date.parse(t.created_at) - timeOf(t) > 60_000

// TaskStates shows the states of tasks in their order, each as an icon with a sentence.
export function TaskStates({ of }: { of: Task[] }) {
  if (of.length === 0) return <span class="dim">no task yet</span>
  return (
    <span class="last-tasks">
      {of.map((t) => {
        const about = `${t.state}${t.state === 'scheduled' && t.attempts.length ? ' for a retry' : ''}${t.reason && t.reason !== t.state ? ': ' + t.reason.replaceAll('_', ' ') : ''}, ${t.instant ? 'instant ' : ''}${relative(timeOf(t), serverNow())}${backfilled(t) ? `, created ${relative(Date.parse(t.created_at), serverNow())}` : ''}`
        const [tone, icon] = looks[t.state]!
        return <a key={t.id} href={link('task', t.name)} title={about} class={tone}><Icon name={icon} /><span class="sr">{about}</span></a>
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
