import type { FunctionComponent } from 'preact'
import { useSignal } from '@preact/signals'
import { listNamespaces } from './api/openapi.gen'
import { readPages } from './api/pages'
import { count } from './format/number'
import { Icon } from './parts/icon'
import { useData } from './state/data'
import { route, setQuery } from './state/route'
import { logOut, me, namespace, operator, selectNamespace, token } from './state/session'
import { frozen, nextTheme, theme, zone, zones } from './state/settings'

export type Show = FunctionComponent<{ name: string }>

interface PageEntry {
  path: string
  title: string
  load: () => Promise<Show>
  hidden?: boolean // reached from other pages only
}

// The browser loads the file of a page when the page is opened.
export const pages: PageEntry[] = [
  { path: 'now', title: 'Now', load: async () => (await import('./pages/now/now')).Now },
  { path: 'upcoming', title: 'Upcoming', load: async () => (await import('./pages/operations')).Upcoming },
  { path: 'tasks', title: 'Tasks', load: async () => (await import('./pages/operations')).Tasks },
  { path: 'task', title: 'Task', load: async () => (await import('./pages/task/task')).Task, hidden: true },
  { path: 'schedules', title: 'Schedules', load: async () => (await import('./pages/schedules/schedules')).Schedules },
  { path: 'simulator', title: 'Simulator', load: async () => (await import('./pages/schedules/schedules')).Simulator },
  { path: 'queues', title: 'Queues', load: async () => (await import('./pages/operations')).Queues },
  { path: 'dead', title: 'Dead', load: async () => (await import('./pages/operations')).Dead },
  { path: 'destinations', title: 'Destinations', load: async () => (await import('./pages/operations')).Destinations },
  { path: 'server', title: 'Server', load: async () => (await import('./pages/server/server')).Server },
]

export function Nav({ onHelp }: { onHelp: () => void }) {
  const open = useSignal(false)
  const page = route.value.page === 'task' ? 'tasks' : route.value.page
  return (
    <header class={'nav' + (open.value ? ' open' : '')}>
      <div class="brand">
        <a href="#/now"><b>Foliot</b></a>
        <button type="button" class="quiet menu" aria-expanded={open.value} onClick={() => (open.value = !open.value)}><Icon name="menu" /><span class="sr">Menu</span></button>
      </div>
      <nav aria-label="Pages" onClick={() => (open.value = false)}>
        {pages.filter((p) => !p.hidden).map((p) => (
          <a key={p.path} href={'#/' + p.path} aria-current={p.path === page ? 'page' : undefined}><Icon name={p.path} />{p.title}</a>
        ))}
      </nav>
      <div class="controls">
        {operator.value && <NamespaceSelect />}
        <label class="field"><span>Times</span>
          <select value={zone.value} onChange={(e) => (zone.value = e.currentTarget.value as typeof zone.value)}>
            {zones.map((z) => <option key={z} value={z}>{zoneLabels[z]}</option>)}
          </select>
        </label>
        <div class="row">
          <button type="button" class="quiet" aria-pressed={frozen.value} onClick={() => (frozen.value = !frozen.value)} title="Stop or continue the wheel and the times. (Space)"><Icon name={frozen.value ? 'play' : 'pause'} />{frozen.value ? 'Continue' : 'Freeze'}</button>
          <button type="button" class="quiet" onClick={nextTheme} title="Dark, light, or the setting of your system">Theme: {theme.value}</button>
          <button type="button" class="quiet" onClick={onHelp}>Keyboard</button>
          {token.value && <button type="button" class="quiet" onClick={() => logOut()}>Log out</button>}
        </div>
        <p class="who dim">{identity()}</p>
      </div>
    </header>
  )
}

const zoneLabels = { mine: 'Mine: ' + Intl.DateTimeFormat().resolvedOptions().timeZone, schedule: 'The schedule’s', utc: 'UTC' }

// identity says who the user is to the server, and which server replies.
function identity(): string {
  const m = me.value
  if (!m) return ''
  const rights = m.secured ? `${m.operator ? 'operator, ' : ''}${m.scope} · ${m.namespace}` : 'no token required'
  return `${rights} · ${m.node ? m.node + ' · ' : ''}${m.version}`
}

// NamespaceSelect selects the namespace of all pages, for an operator.
function NamespaceSelect() {
  const list = useData(namespaceNames, [])
  const names = new Set(['default', ...(list.value?.names ?? []), ...(namespace.value ? [namespace.value] : [])])
  return (
    <label class="field"><span>Namespace</span>
      <select value={namespace.value || me.value?.namespace || 'default'} onChange={(e) => (selectNamespace(e.currentTarget.value), setQuery({ namespace: e.currentTarget.value, cursor: undefined }))}>
        {[...names].sort().map((n) => <option key={n} value={n}>{n}</option>)}
      </select>
      {list.problem && <small class="bad">The list of namespaces could not be read.</small>}
      {list.value?.complete === false && <small class="dim">Only the first {count(list.value.names.length)} are listed. To open another one, put namespace=NAME into the address.</small>}
    </label>
  )
}

// namespaceNames returns the names of the namespaces: complete is false if there are
// more than the page reads.
async function namespaceNames(signal: AbortSignal): Promise<{ names: string[]; complete: boolean }> {
  const { items, next } = await readPages('namespaces', 10_000, undefined, (page) => listNamespaces(page, undefined, signal))
  return { names: items.map((n) => n.name), complete: !next }
}
