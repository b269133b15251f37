import type { ComponentChildren } from 'preact'
import { useSignal } from '@preact/signals'

// Masked hides its content until the user asks for it: another person may see the
// screen.
export function Masked({ label, children }: { label: string; children: ComponentChildren }) {
  const shown = useSignal(false)
  if (shown.value) return <>{children}</>
  return <button type="button" class="quiet masked" onClick={() => (shown.value = true)}>Show {label}</button>
}
