import { useSignal } from '@preact/signals'
import type { Problem } from './api/openapi.gen'
import { ProblemNote } from './parts/notice'
import { ended, enter } from './state/session'

// Login asks for a token. It stays in this tab.
export function Login({ problem }: { problem: Problem | null }) {
  const secret = useSignal('')
  const submit = (event: Event) => {
    event.preventDefault()
    enter(secret.value.trim())
  }
  return (
    <main class="start">
      <form class="login" onSubmit={submit}>
        <h1>Foliot</h1>
        <p>This server needs a token. The page keeps it only until you close this tab.</p>
        <label class="field"><span>Token</span>
          <input type="password" name="token" autocomplete="current-password" required value={secret.value} onInput={(e) => (secret.value = e.currentTarget.value)} />
        </label>
        {ended.value && !problem && <p class="note warn" role="alert">{ended.value}</p>}
        <ProblemNote problem={problem} />
        <button type="submit" class="primary">Log in</button>
        <p class="dim">An operator makes a token with <code>foliot token create</code>.</p>
      </form>
    </main>
  )
}
