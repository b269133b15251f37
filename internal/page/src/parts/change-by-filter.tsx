import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { cancelTasks, moveTasks, retryTasks, type BulkReply, type MoveInput, type Problem } from '../api/openapi.gen'
import { foliot } from '../format/command'
import { count, plural } from '../format/number'
import { full, wrongDuration } from '../format/time'
import { problemOf } from '../state/data'
import { flags, query, selects, type Filter } from '../state/filter'
import { useAbort } from '../state/abort'
import { ActionButton } from './action'
import { Command } from './command'
import { Dialog } from './dialog'
import { Examples } from './examples'
import { Field } from './field'
import { ProblemNote } from './notice'

const verbs = {
  cancel: { call: cancelTasks, label: 'Cancel all that match', word: 'Cancel', past: 'cancelled', command: ['cancel'] },
  retry: { call: retryTasks, label: 'Retry all that match', word: 'Retry', past: 'due now', command: ['retry'] },
  move: { call: moveTasks, label: 'Move all that match', word: 'Move', past: 'moved', command: ['move'] },
} as const

export type Verb = keyof typeof verbs

// The server compares a number of tasks with the dry run only up to this one.
const mostExpected = 1e6

interface Props {
  verb: Verb
  filter: Filter
  label?: string
  done: () => void
}

// ChangeByFilter changes all tasks that match a filter, in three steps: a dry run that
// counts them and shows examples, the user's consent, and the change itself, which the
// user can stop.
export function ChangeByFilter(p: Props) {
  const open = useSignal(false)
  const verb = verbs[p.verb]
  const label = p.label ?? verb.label
  return (
    <>
      <ActionButton label={label} call={verb.call} style={p.verb === 'cancel' ? 'danger' : ''} open={() => (open.value = true)} />
      {open.value && <Steps {...p} label={label} onClose={() => (open.value = false)} />}
    </>
  )
}

function Steps({ verb, filter, label, done, onClose: closed }: Props & { label: string; onClose: () => void }) {
  const found = useSignal<BulkReply | null>(null)
  const result = useSignal<BulkReply | null>(null)
  const problem = useSignal<Problem | null>(null)
  const left = useSignal<number | null>(null)
  const by = useSignal('1h')
  // The list is read again only now: before, the result would vanish with its row.
  const onClose = () => {
    closed()
    if (changed.current) done()
  }
  const stop = useAbort()
  const changed = useRef(false)
  const wrongBy = verb === 'move' ? wrongDuration(by.value.trim().replace(/^-/, '')) : undefined
  const body: MoveInput | undefined = verb === 'move' ? { by: by.value } : undefined
  const ask = (dry: boolean, signal: AbortSignal) => {
    const params = { ...query(filter), all: selects(filter) ? undefined : true, dry_run: dry ? true : undefined, expect: dry || found.value!.matched! > mostExpected ? undefined : found.value!.matched }
    return verb === 'move' ? moveTasks(params, body, signal) : verbs[verb].call(params, undefined, signal)
  }
  useEffect(() => {
    const { signal } = stop.current
    ask(true, signal).then((r) => (found.value = r), (err) => !signal.aborted && (problem.value = problemOf(err)))
  }, [])
  const run = async (event: Event) => {
    event.preventDefault()
    problem.value = null
    stop.current = new AbortController()
    const running = stop.current.signal
    left.value = found.value!.matched!
    void watch(() => ask(true, running), left, running)
    try {
      result.value = await ask(false, running)
    } catch (err) {
      problem.value = running.aborted ? { ...problemOf(err), title: 'Stopped.', detail: 'Some of the tasks are changed. To change the rest, start the same action again.' } : problemOf(err)
    }
    stop.current.abort()
    left.value = null
    changed.current = true
  }
  const matched = found.value?.matched ?? 0
  return (
    <Dialog title={[label, filter.reason?.replaceAll('_', ' '), filter.destination, filter.queue, filter.ended_after && `ended after ${full(filter.ended_after)}`].filter(Boolean).join(' · ')} onClose={onClose} wide>
      <form onSubmit={run}>
        <ProblemNote problem={problem.value} />
        {!found.value && !problem.value && <p class="loading" role="status">Counting the tasks that match…</p>}
        {found.value && !result.value && <p role="status"><b>{plural(matched, 'task')}</b> {matched === 1 ? 'matches' : 'match'}. Nothing is changed yet.</p>}
        {result.value && <p class="note good" role="status">{resultText(result.value, verbs[verb].past)}</p>}
        {verb === 'move' && !result.value && <Field label="Move by" value={by} error={wrongBy} hint="1h is one hour later, -10m ten minutes earlier." required />}
        {found.value && !result.value && matched > 0 && <Examples of={found.value.examples ?? []} total={matched} />}
        {left.value !== null && <p role="status"><progress aria-label="Progress" max={matched} value={matched - left.value} /> {count(left.value)} left</p>}
        {!wrongBy && <Command text={foliot(...verbs[verb].command, ...flags(filter), ...(verb === 'move' ? ['--by', by.value] : []))} />}
        <footer>
          {left.value !== null && <button type="button" onClick={() => stop.current.abort()}>Stop</button>}
          <button type="button" class="quiet" onClick={onClose}>Close</button>
          {!result.value && <button type="submit" class={verb === 'cancel' ? 'danger' : 'primary'} disabled={!found.value || matched === 0 || wrongBy !== undefined || left.value !== null}>{verbs[verb].word} {plural(matched, 'task')}</button>}
        </footer>
      </form>
    </Dialog>
  )
}

function resultText(r: BulkReply, past: string): string {
  const all = [`${plural(r.changed, 'task')} changed: ${past}.`]
  if (r.skipped) all.push(`${plural(r.skipped, 'task')} ${r.skipped === 1 ? 'was skipped: its' : 'were skipped: their'} state does not allow it.`)
  if (r.accepted) all.push(`${plural(r.accepted, 'more task')} ${r.accepted === 1 ? 'has a running attempt, which is its' : 'have a running attempt, which is their'} last one.`)
  return all.join(' ')
}

// watch counts the tasks that are left, with a pause of twenty times the cost of a
// count, so that counting does not slow the change.
async function watch(ask: () => Promise<BulkReply>, left: { value: number | null }, signal: AbortSignal): Promise<void> {
  for (let wait = 500; !signal.aborted; ) {
    await new Promise((resolve) => setTimeout(resolve, wait))
    if (signal.aborted) return
    const began = performance.now()
    try {
      const reply = await ask()
      if (left.value !== null) left.value = Math.min(left.value, reply.matched ?? 0)
    } catch {
      return
    }
    wait = Math.max(500, 20 * (performance.now() - began))
  }
}
