import { useEffect, useLayoutEffect } from 'preact/hooks'
import { useSignal } from '@preact/signals'
import { whoami } from './api/openapi.gen'
import { Login } from './login'
import { Nav, pages, type Show } from './nav'
import { Help } from './help'
import { Note, ProblemNote, Toast } from './parts/notice'
import { problemOf } from './state/data'
import { useKeys } from './state/keys'
import { useLive } from './state/live'
import { route, setQuery } from './state/route'
import { endedSessions, me, namespace, operator, selectedOrAll, selectNamespace, setNow, token, validNamespace } from './state/session'
import { frozen, nextZone } from './state/settings'
import type { Problem } from './api/openapi.gen'

// App asks the server who the user is, and shows the login or the pages.
export function App() {
  const problem = useSignal<Problem | null>(null)
  const help = useSignal(false)
  useLive() // on every page: so a revoked token ends the session within a second
  useLayoutEffect(() => {
    const stop = new AbortController()
    void identify(stop.signal, problem)
    return () => stop.abort()
  }, [token.value, namespace.value, endedSessions.value])
  useKeys({
    z: nextZone,
    '?': () => (help.value = !help.value),
    ' ': (e) => ((e.target as HTMLElement).closest('button,a,summary') ? (e.target as HTMLElement).click() : (frozen.value = !frozen.value)),
    '/': () => document.querySelector<HTMLInputElement>('input[data-search]')?.focus(),
  })
  if (problem.value?.status === 401) return <Login problem={token.value ? problem.value : null} />
  if (problem.value?.code === 'unknown_namespace') return <Missing name={namespace.value} />
  if (!me.value) return <main class="start">{problem.value ? <ProblemNote problem={problem.value} /> : <p class="loading" role="status">Loading…</p>}</main>
  return (
    <div class="shell">
      <a class="skip" href="#content" onClick={(e) => (e.preventDefault(), document.getElementById('content')?.focus())}>Skip to content</a>
      <Nav onHelp={() => (help.value = true)} />
      <main id="content" tabIndex={-1}>
        {!me.value.secured && <Note tone="warn">This server has no tokens: every caller may do everything. <a href="#/server">Require tokens</a>.</Note>}
        {me.value.durability === 'memory' && <Note tone="warn">The tasks of this server are in memory: they are lost when it stops.</Note>}
        <Page />
      </main>
      {help.value && <Help onClose={() => (help.value = false)} />}
      <Toast />
    </div>
  )
}

// Missing says that a link or an earlier choice names a namespace that does not exist.
// No other namespace takes its place: the user selects one.
function Missing({ name }: { name: string }) {
  const other = () => {
    setQuery({ namespace: undefined })
    selectNamespace('')
  }
  return (
    <main class="start">
      <div class="login">
        <h1>There is no namespace {name}</h1>
        <p>It was deleted, or the link has an error.</p>
        <button type="button" class="primary" onClick={other}>Open the namespace of your token</button>
      </div>
    </main>
  )
}

async function identify(signal: AbortSignal, problem: { value: Problem | null }): Promise<void> {
  for (;;) {
    try {
      const identity = await whoami.in(selectedOrAll())({}, undefined, signal)
      setNow(identity.now)
      me.value = identity
      problem.value = null
      return
    } catch (err) {
      if (signal.aborted) return
      const p = problemOf(err)
      problem.value = p
      if (p.status === 401) return
      if (p.code === 'unknown_namespace') return
      await new Promise((resolve) => setTimeout(resolve, 2000))
    }
  }
}

function Page() {
  const { page, name, query } = route.value
  const named = query.get('namespace')
  const invalid = named !== null && named !== '' && !validNamespace(named)
  const other = operator.value && named !== null && named !== '' && named !== namespace.value && !invalid
  useEffect(() => {
    if (other) selectNamespace(named)
  }, [route.value, other])
  const entry = pages.find((p) => p.path === page)
  const loaded = useSignal<{ page: string; show?: Show; failed?: boolean } | null>(null)
  useEffect(() => {
    document.title = `${name ? name + ' · ' : ''}${entry?.title ?? 'Unknown page'} · Foliot`
    scrollTo(0, 0)
  }, [page, name])
  useLayoutEffect(() => {
    entry?.load().then((show) => (loaded.value = { page, show }), () => (loaded.value = { page, failed: true }))
  }, [page])
  if (!entry) return <Note tone="warn">There is no page named {page}. <a href="#/now">Open Now</a></Note>
  // The texts of a link become words of commands: a record must not be taken for a flag.
  if (invalid || name.startsWith('-')) return <Note tone="warn">The link has an error: no {invalid ? 'namespace' : 'record'} can have the name {invalid ? named : name}. <a href="#/now">Open Now</a></Note>
  if (other || loaded.value?.page !== page) return <p class="loading" role="status">Loading…</p>
  const Shown = loaded.value.show
  // A new version of the server has other files.
  if (!Shown) return <Note tone="warn">This page could not be loaded. <button type="button" onClick={() => location.reload()}>Load it again</button></Note>
  return <Shown key={page + '/' + name + '/' + namespace.value} name={name} />
}
