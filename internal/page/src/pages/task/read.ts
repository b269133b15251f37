import { request } from '../../api/call'
import type { Task } from '../../api/openapi.gen'
import { member } from '../../format/json'

// TaskRead is a task, and its body or its arguments as the server sent it: the text of a JSON value.
export interface TaskRead {
  task: Task
  body?: string
}

export async function readTask(name: string, signal?: AbortSignal): Promise<TaskRead> {
  const reply = await request('GET', 'v1/tasks/' + encodeURIComponent(name), {}, undefined, signal)
  const text = await reply.text()
  return { task: JSON.parse(text) as Task, body: member(text, 'http', 'body') ?? member(text, 'work', 'args') }
}

export type BodyKind = 'none' | 'json' | 'text' | 'bytes'

export function bodyKind({ task, body }: TaskRead): BodyKind {
  if (body === undefined) return task.http?.body_base64 ? 'bytes' : 'none'
  // Arguments are JSON. A string next to bytes was published as JSON.
  return body.startsWith('"') && !task.work && !task.http?.body_base64 ? 'text' : 'json'
}

// bodyText returns the body as the receiver gets it. It is empty for bytes.
export function bodyText(read: TaskRead): string {
  const kind = bodyKind(read)
  if (kind === 'text') return JSON.parse(read.body!) as string
  return kind === 'json' ? read.body! : ''
}

export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64)
  const out = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) out[i] = text.charCodeAt(i)
  return out
}

// endedExceptDead reports whether a task has ended in another state than dead. A dead
// task has ended too, but it can be changed.
export const endedExceptDead = (t: Task): boolean => ['delivered', 'cancelled', 'expired'].includes(t.state)
export const waiting = (t: Task): boolean => t.state === 'scheduled' || t.state === 'held'

// waited reports whether the next attempt is a repeat after a wait.
export function waited(t: Task): boolean {
  return waiting(t) && t.attempts.length > 0 && t.next_at !== undefined && Date.parse(t.next_at) > Date.parse(t.due_at)
}

// snoozed reports whether the receiver asked to wait: such an attempt is not counted.
export function snoozed(a: { status: number; error?: string }): boolean {
  return (a.status === 429 || a.status === 503) && (a.error?.includes('asked to wait') ?? false)
}
