import type { ComponentChildren } from 'preact'
import type { Task } from '../api/openapi.gen'
import { Icon } from './icon'

export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'wait' | 'plain'

const tones: Record<string, Tone> = {
  scheduled: 'wait', held: 'warn', running: 'info', delivered: 'good', cancelled: 'plain', expired: 'warn', dead: 'bad',
  active: 'good', paused: 'warn', ended: 'plain', revoked: 'plain',
  closed: 'good', open: 'bad', 'half-open': 'warn',
  failed: 'bad', snoozed: 'warn', refused: 'bad', interrupted: 'plain', lost_lease: 'warn',
}

// Badge shows a state as an icon, a color and its word, never by the color alone.
export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return <span class={'badge ' + tone}>{tone !== 'plain' && <Icon name={tone} />}{children}</span>
}

// State shows the state of a task, a schedule, a breaker, or the outcome of an attempt.
export function State({ of, reason }: { of: string; reason?: string }) {
  return <Badge tone={tones[of] ?? 'plain'}>{of.replace('_', ' ')}{reason && reason !== of ? `: ${reason.replaceAll('_', ' ')}` : ''}</Badge>
}

// stateReason returns the word next to the state: what holds the task back, or how it ended.
export const stateReason = (t: Task): string | undefined => (t.waits_for?.reason === 'turn' ? undefined : t.waits_for?.reason) ?? t.reason
