import type { ComponentChildren } from 'preact'
import { signal } from '@preact/signals'
import { url } from '../api/call'
import type { Problem } from '../api/openapi.gen'
import type { Data } from '../state/data'
import { Command } from './command'
import { Icon } from './icon'

// ProblemNote shows why a call failed, with a link to the page about the problem. The page
// itself makes problems too, which have the type about:blank.
export function ProblemNote({ problem }: { problem: Problem | null }) {
  if (!problem) return null
  return (
    <p class="note bad" role="alert">
      <Icon name="bad" /> <b>{problem.type === 'about:blank' ? problem.title : <a href={url('docs/problems#' + problem.code)} target="_blank" rel="noreferrer">{problem.title}</a>}</b> {problem.detail} {problem.field && <code>{problem.field}</code>}
    </p>
  )
}

export function Note({ tone = 'info', children }: { tone?: 'info' | 'warn' | 'good'; children: ComponentChildren }) {
  return <p class={'note ' + tone}><Icon name={tone} /> <span>{children}</span></p>
}

// Empty says that there is nothing to see, and what to do next.
export function Empty({ title, children, command }: { title: string; children?: ComponentChildren; command?: string }) {
  return (
    <div class="empty">
      <p><b>{title}</b></p>
      {children && <p class="dim">{children}</p>}
      {command && <Command text={command} label="A command to start with" />}
    </div>
  )
}

// Loaded shows data when it has arrived, and until then that it is on its way.
export function Loaded<T>({ data, children }: { data: Data<T>; children: (value: T) => ComponentChildren }) {
  return (
    <>
      <ProblemNote problem={data.problem} />
      {data.value !== null ? children(data.value) : data.loading ? <p class="loading" role="status">Loading…</p> : null}
    </>
  )
}

// toast shows one short message at the edge of the page.
export const message = signal('')
let timer = 0

export function toast(text: string): void {
  message.value = text
  clearTimeout(timer)
  timer = setTimeout(() => (message.value = ''), 5000)
}

export function Toast() {
  return <div class={'toast' + (message.value ? ' shown' : '')} role="status">{message.value}</div>
}
