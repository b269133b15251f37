import { effect, signal } from '@preact/signals'

// The settings of a user stay in localStorage: they are no secret, and last
// longer than a session.

function stored<T extends string>(key: string, initial: T, allowed: readonly T[]) {
  const value = localStorage.getItem(key) as T | null
  const s = signal<T>(value !== null && allowed.includes(value) ? value : initial)
  effect(() => localStorage.setItem(key, s.value))
  return s
}

// zone selects the time zone of every time on the page. With schedule, times of a
// schedule are in its zone, and others in the user's.
export const zones = ['mine', 'schedule', 'utc'] as const
export const zone = stored('foliot.zone', 'mine', zones)

export const themes = ['system', 'dark', 'light'] as const
export const theme = stored('foliot.theme', 'system', themes)

effect(() => {
  document.documentElement.dataset.theme = theme.value
})

export function nextZone(): void {
  zone.value = zones[(zones.indexOf(zone.value) + 1) % zones.length]!
}

export function nextTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length]!
}

// reducedMotion is true if the user asked their system for less motion.
const motion = matchMedia('(prefers-reduced-motion: reduce)')
export const reducedMotion = signal(motion.matches)
motion.addEventListener('change', () => (reducedMotion.value = motion.matches))

// frozen stops the wheel, the distances of times from now, and the page of a task.
export const frozen = signal(false)
