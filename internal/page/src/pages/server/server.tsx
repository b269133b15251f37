import type { FunctionComponent } from 'preact'
import { Head } from '../../parts/panel'
import { Audit } from './audit'
import { Namespaces } from './namespaces'
import { Nodes } from './nodes'
import { Overview } from './overview'
import { Secrets } from './secrets'
import { Tokens } from './tokens'
import { link, route } from '../../state/route'

const tabs: [tab: string, title: string, content: FunctionComponent][] = [
  ['', 'Overview', Overview],
  ['nodes', 'Nodes', Nodes],
  ['namespaces', 'Namespaces', Namespaces],
  ['tokens', 'Tokens', Tokens],
  ['secrets', 'Secrets', Secrets],
  ['audit', 'Audit log', Audit],
]

// Server manages the server. Each tab reads only what it shows, and a tab says which
// token it needs.
export function Server(_: { name: string }) {
  const at = route.value.query.get('tab') ?? ''
  const [tab, , TabContent] = tabs.find(([t]) => t === at) ?? tabs[0]!
  return (
    <>
      <Head title="Server" />
      <nav class="tabs" aria-label="Parts of Server">
        {tabs.map(([t, title]) => <a key={t} href={link('server', '', { tab: t })} aria-current={t === tab ? 'page' : undefined}>{title}</a>)}
      </nav>
      <TabContent key={tab} />
    </>
  )
}
