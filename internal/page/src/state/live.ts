import { effect, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Refusal } from '../api/call'
import type { Live, Problem } from '../api/openapi.gen'
import { stream, type Frame } from '../api/stream'
import { logOut, me, namespace, setNow, token } from './session'

// The live data of the server. One stream serves all parts of the page, and runs
// only while one of them is shown.

export const live = signal<Live | null>(null)
export const connected = signal(false)

const viewers = signal(0)

// A hidden tab has no stream: browsers allow only six connections to a server without
// TLS, in all tabs together.
const hidden = signal(document.hidden)
document.addEventListener('visibilitychange', () => (hidden.value = document.hidden))

let stop: AbortController | null = null

effect(() => {
  const wanted = viewers.value > 0 && me.value !== null && !hidden.value
  // A new token or namespace needs a new stream.
  void token.value
  void namespace.value
  stop?.abort()
  stop = null
  live.value = null
  connected.value = false
  if (!wanted) return
  stop = new AbortController()
  run(stop.signal).catch(() => {})
})

// run connects again after one to three seconds: the random part keeps many pages from
// returning at once.
async function run(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await stream('v1/live', signal, take)
    } catch (err) {
      if (signal.aborted) return
      connected.value = false
      if (err instanceof Refusal && [401, 403].includes(err.problem.status)) return refused(err.problem)
    }
    await new Promise((resolve) => setTimeout(resolve, 1000 + Math.random() * 2000))
  }
}

function take(frame: Frame): void {
  if (frame.event === 'problem') return refused(JSON.parse(frame.data) as Problem)
  const next = JSON.parse(frame.data) as Live
  if (next.now) setNow(next.now)
  live.value = next
  connected.value = true
}

function refused(problem: Problem): void {
  connected.value = false
  if (problem.status === 401) logOut(problem.detail)
}

// useLive keeps the stream open while the caller is shown.
export function useLive(): Live | null {
  useEffect(() => {
    viewers.value++
    return () => void viewers.value--
  }, [])
  return live.value
}
