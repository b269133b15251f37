import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { enter } from '../../state/session'
import { Copy } from '../copy'
import { Dialog } from '../dialog'
import { Note } from '../notice'

// Once shows a token or a secret that the server shows only once. The dialog stays
// until the visitor closes it with its button.
export function Once({ title, value, children, login, onClose }: { title: string; value: string; children?: ComponentChildren; login?: boolean; onClose: () => void }) {
  const asked = useSignal(false)
  return (
    <Dialog title={title} onClose={() => (asked.value = true)}>
      <Note tone="warn">This is shown only once. Copy it now, and keep it in a safe place.</Note>
      <div class="command"><code tabIndex={0} aria-label={title} data-once>{value}</code><Copy text={value} /></div>
      {children}
      {asked.value && <Note>Use the button below to close this window: the value cannot be shown again.</Note>}
      <footer>
        {login && <button type="button" class="primary" onClick={() => (enter(value), onClose())}>Log in with it</button>}
        <button type="button" onClick={onClose}>I have kept it: close</button>
      </footer>
    </Dialog>
  )
}
