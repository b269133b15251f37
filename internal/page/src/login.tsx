import { useSignal } from '@preact/signals'
import type { Problem } from './api/openapi.gen'
import { ProblemNote } from './parts/notice'
import { logIn, logoutReason } from './state/session'

// The token must not outlive the tab. A browser offers to save what is in a password
// field, and ignores autocomplete="off" there. So the token is in a text field whose
// characters the style hides. Without that style it is in a password field. No spell
// checker may read it, because some send the text to a server.
const inputType = CSS.supports('-webkit-text-security', 'disc') ? 'text' : 'password'

// Login asks for a token. It stays in this tab.
export function Login({ problem }: { problem: Problem | null }) {
  const secret = useSignal('')
  const submit = (event: Event) => {
    event.preventDefault()
    logIn(secret.value.trim())
  }
  return (
    <main class="start">
      <form class="login" onSubmit={submit}>
        <h1>Foliot</h1>
        <p>This server requires a token. The page keeps it only until you close this tab.</p>
        <label class="field"><span>Token</span>
          <input type={inputType as 'text'} class="secret" name="token" autocomplete="off" autocapitalize="none" spellcheck={false} required value={secret.value} onInput={(e) => (secret.value = e.currentTarget.value)} />
        </label>
        {logoutReason.value && !problem && <p class="note warn" role="alert">{logoutReason.value}</p>}
        <ProblemNote problem={problem} />
        <button type="submit" class="primary">Log in</button>
        <p class="dim">An operator or an admin of your namespace creates tokens, here at Server or with <code>foliot token create</code>.</p>
      </form>
    </main>
  )
}
