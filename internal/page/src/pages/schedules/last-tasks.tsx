import { listTasks, type Schedule, type Task } from '../../api/openapi.gen'
import { readPages } from '../../api/pages'
import { millis, relative } from '../../format/time'
import { Icon } from '../../parts/icon'
import { link } from '../../state/route'
import { serverNow } from '../../state/session'

// The last tasks of a schedule. The API lists tasks only forwards, by name, and the name
// of a task has its instant or the time of its trigger. So the search reads those of the
// last few instants, and goes further back only if they are not enough.

const most = 200

export async function lastTasks(s: Schedule, n: number, signal: AbortSignal): Promise<Task[]> {
  for (const since of bounds(s, n)) {
    const { items, next } = await readPages(most, undefined, async (limit, cursor) => {
      const { tasks, next_cursor } = await listTasks({ schedule: s.name, limit, cursor, ...(since !== undefined && within(s.name, since)) }, undefined, signal)
      return { items: tasks, next: next_cursor }
    })
    items.sort((a, b) => timeOf(a) - timeOf(b))
    if (items.length >= n || next || since === undefined) return items.slice(-n)
  }
  return []
}

// within selects the tasks since a time. Only the prefix of their names makes the search
// short.
function within(schedule: string, since: number) {
  const [a, b] = [String(Math.floor(since)), String(Math.floor(serverNow()))]
  let same = 0
  while (same < a.length && a[same] === b[same]) same++
  return { due_after: new Date(since).toISOString(), prefix: schedule + '@' + a.slice(0, same) }
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

const looks: Record<string, [tone: string, icon: string]> = {
  delivered: ['good', 'good'], dead: ['bad', 'bad'], expired: ['warn', 'warn'], held: ['warn', 'pause'], cancelled: ['dim', 'close'], running: ['info', 'play'], scheduled: ['wait', 'wait'],
}

// TaskStates shows the states of tasks in their order, each as an icon with a sentence.
export function TaskStates({ of }: { of: Task[] }) {
  if (of.length === 0) return <span class="dim">no task yet</span>
  return (
    <span class="last-tasks">
      {of.map((t) => {
        const about = `${t.state}${t.state === 'scheduled' && t.attempts.length ? ' for a retry' : ''}${t.reason && t.reason !== t.state ? ': ' + t.reason.replaceAll('_', ' ') : ''}, ${relative(timeOf(t), serverNow())}`
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
