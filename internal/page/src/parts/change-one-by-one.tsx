import { useSignal, type Signal } from '@preact/signals'
import { useMemo, useRef } from 'preact/hooks'
import { cancelTask, runTask, type Problem, type Task } from '../api/openapi.gen'
import { foliot } from '../format/command'
import { count, plural } from '../format/number'
import { problemOf } from '../state/data'
import { useAbort } from '../state/abort'
import { ActionButton, runNow } from './action'
import { Command } from './command'
import { Dialog } from './dialog'
import { Examples } from './examples'
import { ProblemNote } from './notice'

const verbs = {
  run: { call: runTask, word: 'Run', past: 'due now', command: ['move', '--now'], about: runNow('Each task') },
  cancel: { call: cancelTask, word: 'Cancel', past: 'cancelled', command: ['cancel'], about: 'No attempt of a cancelled task starts any more. A running attempt is the last one.' },
} as const

interface Props {
  verb: keyof typeof verbs
  label: string
  title: string
  tasks: Task[]
  done: () => void
}

// ChangeOneByOne changes tasks that no filter of the API selects, one by one. It first
// shows examples. The user can stop it.
export function ChangeOneByOne(p: Props) {
  const open = useSignal(false)
  return (
    <>
      <ActionButton label={p.label} call={verbs[p.verb].call} style={danger(p.verb)} open={() => (open.value = true)} />
      {open.value && <Steps {...p} onClose={() => (open.value = false)} />}
    </>
  )
}

function danger(verb: keyof typeof verbs): string {
  return verbs[verb].call === cancelTask ? 'danger' : ''
}

interface Progress {
  changed: number
  skipped: number
  running: boolean
  stopped: boolean
}

function Steps({ verb, title, tasks: selected, done, onClose: closed }: Props & { onClose: () => void }) {
  const tasks = useMemo(() => selected, []) // the list may change while the dialog is open
  const problem = useSignal<Problem | null>(null)
  const progress = useSignal<Progress | null>(null)
  const stop = useAbort()
  const changed = useRef(false)
  const onClose = () => {
    closed()
    if (changed.current) done()
  }
  const { word, past, command, about } = verbs[verb]
  const run = async (event: Event) => {
    event.preventDefault()
    problem.value = null
    changed.current = true
    await changeAll(verb, tasks, progress, problem, stop.current.signal)
  }
  const p = progress.value
  return (
    <Dialog title={title} onClose={onClose} wide>
      <form onSubmit={run}>
        <ProblemNote problem={problem.value} />
        {!p && <p>{about} The tasks are changed one by one, so this can be stopped at any time.</p>}
        {p && <Outcome of={p} total={tasks.length} past={past} />}
        {!p && <Examples of={tasks.slice(0, 20)} total={tasks.length} />}
        {tasks.length <= 500 && <Command text={foliot(...command, ...tasks.map((t) => t.name))} />}
        <footer>
          {p?.running && <button type="button" onClick={() => stop.current.abort()}>Stop</button>}
          <button type="button" class="quiet" onClick={onClose}>Close</button>
          {!p && <button type="submit" class={danger(verb) || 'primary'}>{word} {plural(tasks.length, 'task')}</button>}
        </footer>
      </form>
    </Dialog>
  )
}

function Outcome({ of: p, total, past }: { of: Progress; total: number; past: string }) {
  const words = `${plural(p.changed, 'task')} changed: ${past}.${p.skipped ? ` ${plural(p.skipped, 'task')} ${p.skipped === 1 ? 'was skipped: its state does not allow it, or it was' : 'were skipped: their state does not allow it, or they were'} changed or removed.` : ''}`
  if (!p.running) return <p class={'note ' + (p.stopped ? 'warn' : 'good')} role="status">{p.stopped && 'Stopped. '}{words}{p.stopped && ` ${count(total - p.changed - p.skipped)} left as they were.`}</p>
  return <p role="status"><progress aria-label="Progress" max={total} value={p.changed + p.skipped} /> {count(p.changed + p.skipped)} of {count(total)}</p>
}

// changeAll changes tasks one by one. The request carries the version, so the server
// refuses it if the task was changed.
async function changeAll(verb: keyof typeof verbs, tasks: Task[], progress: Signal<Progress | null>, problem: Signal<Problem | null>, signal: AbortSignal) {
  const p: Progress = { changed: 0, skipped: 0, running: true, stopped: false }
  for (const t of tasks) {
    progress.value = { ...p }
    try {
      await verbs[verb].call({ name: t.name, ifMatch: `"${t.id}.${t.version}"` }, undefined, signal)
      p.changed++
    } catch (err) {
      const why = problemOf(err)
      if (!signal.aborted && [404, 409, 412].includes(why.status)) {
        p.skipped++
        continue
      }
      p.stopped = true
      if (!signal.aborted) problem.value = why
      break
    }
  }
  progress.value = { ...p, running: false }
}
