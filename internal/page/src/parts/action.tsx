import type { ComponentChildren } from 'preact'
import { useSignal } from '@preact/signals'
import { notYet, type Call } from '../api/call'
import type { Problem } from '../api/openapi.gen'
import { problemOf } from '../state/data'
import { forbidden } from '../state/session'
import { Command } from './command'
import { Dialog } from './dialog'
import { ProblemNote, toast } from './notice'

// runNow says what Run now does.
export const runNow = (subject: 'The task' | 'Each task') => subject + ' is due now. It ignores a pause, the rate, an open breaker and Retry-After. Concurrency limits and a suspended namespace still delay it.'

// Operation is the part of a call that decides who may make it.
export type Operation = Pick<Call<never, never, unknown>, 'scope' | 'operator' | 'method' | 'path'>

export interface ActionButtonProps {
  label: string
  call: Operation
  off?: string // the reason why the action is not possible now
  style?: string // classes
  open: () => void
}

// ActionButton opens an action. If the session may not make the call, or the action
// is not possible now, the button says why.
export function ActionButton({ label, call, off, style, open }: ActionButtonProps) {
  const right = forbidden(call)
  const reason = right || off || ''
  return (
    <button
      type="button" class={style} data-call={`${call.method} ${call.path}`} data-right={right ? 'no' : 'yes'}
      aria-disabled={reason ? 'true' : undefined} title={reason || undefined} onClick={() => (reason ? toast(reason) : open())}
    >{label}</button>
  )
}

export interface ActionProps {
  label: string
  call: Operation // the operation that decides who may do this
  command?: string
  title?: string // of the dialog; default: label
  children?: ComponentChildren // explains the action, or has its fields
  run: () => Promise<string | void> // returns a message about its success
  done?: () => void
  danger?: boolean
  off?: string // the reason why the action is not possible now
  type?: string // the user must type this word first
  quiet?: boolean
  primary?: boolean
  wide?: boolean
  opened?: boolean // the dialog is open from the beginning
  closed?: () => void
}

// Action is a button that opens a dialog: what will happen, the command that does
// the same, and a button that does it. Without the right to do it the button says
// why not.
export function Action(p: ActionProps) {
  const open = useSignal((p.opened ?? false) && !forbidden(p.call))
  return (
    <>
      <ActionButton label={p.label} call={p.call} off={p.off} style={(p.danger ? 'danger' : p.primary ? 'primary' : '') + (p.quiet ? ' quiet' : '')} open={() => (open.value = true)} />
      {open.value && <Confirm {...p} onClose={() => ((open.value = false), p.closed?.())} />}
    </>
  )
}

// Confirm is the dialog of an action.
export function Confirm(p: ActionProps & { onClose: () => void }) {
  const busy = useSignal(false)
  const problem = useSignal<Problem | null>(null)
  const typed = useSignal('')
  const submit = async (event: Event) => {
    event.preventDefault()
    busy.value = true
    problem.value = null
    try {
      const message = await p.run()
      p.onClose()
      if (message) toast(message + notYet() + (notYet() && ' Repeat the change to see if they have.'))
      p.done?.()
    } catch (err) {
      problem.value = problemOf(err)
      busy.value = false
    }
  }
  return (
    <Dialog title={p.title ?? p.label} onClose={p.onClose} wide={p.wide}>
      <form onSubmit={submit}>
        {p.children}
        {p.type && (
          <label>To confirm, type <code>{p.type}</code>
            <input name="confirm" autocomplete="off" value={typed.value} onInput={(e) => (typed.value = e.currentTarget.value)} />
          </label>
        )}
        <ProblemNote problem={problem.value} />
        {p.command && <Command text={p.command} />}
        <footer>
          <button type="button" class="quiet" onClick={p.onClose}>Close</button>
          <button type="submit" class={p.danger ? 'danger' : 'primary'} disabled={busy.value || (p.type !== undefined && typed.value !== p.type)}>
            {busy.value ? 'Working…' : p.label}
          </button>
        </footer>
      </form>
    </Dialog>
  )
}
