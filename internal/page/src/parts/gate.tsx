import type { Call } from '../api/call'
import { forbidden } from '../state/session'
import { toast } from './notice'

// Operation is the part of a call that decides who may make it.
export type Operation = Pick<Call<never, never, unknown>, 'scope' | 'operator' | 'method' | 'path'>

interface GateProps {
  label: string
  call: Operation
  off?: string // the reason why the action is not possible now
  look?: string // classes
  open: () => void
}

// Gate is the button of an action. If the session may not make the call, or the
// action is not possible now, the button says why.
export function Gate({ label, call, off, look, open }: GateProps) {
  const right = forbidden(call)
  const reason = right || off || ''
  return (
    <button
      type="button" class={look} data-call={`${call.method} ${call.path}`} data-right={right ? 'no' : 'yes'}
      aria-disabled={reason ? 'true' : undefined} title={reason || undefined} onClick={() => (reason ? toast(reason) : open())}
    >{label}</button>
  )
}
