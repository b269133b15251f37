import { render } from 'preact'
import { useSignal } from '@preact/signals'
import { notYet } from '../../api/call'
import { logIn } from '../../state/session'
import { Copy } from '../../parts/copy'
import { Dialog } from '../../parts/dialog'
import { Note } from '../../parts/notice'

interface OneTimeValue {
  title: string
  value: string
  text: string
  login?: boolean // the value is a token for this session
}

// showOnce shows a token or a secret that the server shows only once. The dialog stays
// until the user closes it with its button. It lies outside of the pages: after the
// first token their calls are refused, and the login replaces them.
export function showOnce(shown: OneTimeValue): void {
  const place = document.body.appendChild(document.createElement('div'))
  const close = () => {
    render(null, place)
    place.remove()
  }
  render(<OnceDialog {...shown} text={shown.text + notYet()} onClose={close} />, place)
}

function OnceDialog({ title, value, text, login, onClose }: OneTimeValue & { onClose: () => void }) {
  const triedToClose = useSignal(false)
  return (
    <Dialog title={title} onClose={() => (triedToClose.value = true)}>
      <Note tone="warn">This is shown only once. Copy it now, and keep it in a safe place.</Note>
      <div class="command"><code tabIndex={0} aria-label={title} data-once>{value}</code><Copy text={value} /></div>
      <p>{text}</p>
      {triedToClose.value && <Note>Use a button below to close this dialog: the value cannot be shown again.</Note>}
      <footer>
        {login && <button type="button" class="primary" onClick={() => (logIn(value), onClose())}>Log in with it</button>}
        <button type="button" onClick={onClose}>I have kept it: close</button>
      </footer>
    </Dialog>
  )
}
