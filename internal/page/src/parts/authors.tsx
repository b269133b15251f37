import type { ComponentChildren } from 'preact'
import type { Schedule, Task } from '../api/openapi.gen'
import { Time } from './time'

// authors are the facts about who made a record, and who changed it last.
export function authors(of: Task | Schedule): [string, ComponentChildren][] {
  const all: [string, ComponentChildren][] = [
    ['Created by', of.created_by],
    ['Changed', of.changed_at && <span>{of.changed_action} <Time at={of.changed_at} />{of.changed_by && ` by ${of.changed_by}`}</span>],
  ]
  return all.filter(([, value]) => value !== undefined)
}
