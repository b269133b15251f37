import type { ComponentChildren } from 'preact'
import { useSignal } from '@preact/signals'
import { request } from '../../api/call'
import { cluster, createToken, readyz, type Node } from '../../api/openapi.gen'
import { foliot } from '../../format/command'
import { bytes, count } from '../../format/number'
import { Action } from '../../parts/action'
import { Badge } from '../../parts/badge'
import { Field } from '../../parts/field'
import { ProblemNote } from '../../parts/notice'
import { Facts, Panel } from '../../parts/panel'
import { Time } from '../../parts/time'
import { useData } from '../../state/data'
import { link } from '../../state/route'
import { forbidden, me, operator, shared } from '../../state/session'
import { showOnce } from './one-time-value'

const durabilities: Record<string, string> = {
  memory: 'memory: all tasks are lost when the server stops',
  synced: 'synced: accepted tasks survive a power loss',
  async: 'async: accepted tasks survive a crash of Foliot',
  default: 'default: accepted tasks also survive the loss of a Redis master, if a replica confirmed them in time',
  strict: 'strict: accepted tasks survive the loss of any one server',
}

// Overview shows what the server is, and whether it is ready.
export function Overview() {
  const who = me.value!
  const ready = useData((signal) => readyz({}, undefined, signal), [], 5000)
  const nodes = useData(async (signal) => (operator.value ? await cluster({}, undefined, signal) : null), [], 10000)
  const self = nodes.value?.nodes.find((n) => n.self)
  return (
    <>
      {!who.secured && <RequireTokens />}
      <Panel title="Overview">
        <Facts of={[
          ['Ready', ready.problem ? <><Badge tone="bad">not ready</Badge> {ready.problem.detail}</> : ready.value ? <Badge tone="good">ready</Badge> : '…'],
          ['Version', who.version],
          ['Node', who.node ?? (operator.value ? 'the only node' : undefined)],
          ...(shared() && nodes.value ? [['Nodes', <NodeCount of={nodes.value.nodes} />] as [string, ComponentChildren]] : []),
          ['Started', self ? <Time at={self.started_at} /> : operator.value ? undefined : forbidden(cluster)],
          ['Store', who.store === 'shared' ? 'Redis, which several servers can share' : 'embedded: only this server uses it'],
          ['Durability', durabilities[who.durability] ?? who.durability],
          ['Access', who.secured ? <Badge tone="good">tokens required</Badge> : <Badge tone="warn">no token required</Badge>],
          ['Your token', who.token ? <><code>{who.token.id}</code> {who.token.label}, scope {who.scope}, {who.operator ? 'all namespaces' : who.namespace}{who.token.expires_at && <>, expires <Time at={who.token.expires_at} /></>}</> : 'none'],
        ]} />
      </Panel>
      <StorePanel />
    </>
  )
}

// NodeCount says how many nodes are ready, and how many are not.
function NodeCount({ of: nodes }: { of: Node[] }) {
  const ready = nodes.filter((n) => n.ready).length
  const unready = nodes.length - ready
  return <><a href={link('server', '', { tab: 'nodes' })}>{ready} ready</a> {unready > 0 && <Badge tone="bad">{unready} not ready</Badge>}</>
}

// RequireTokens creates the first token. From then on every request needs one.
function RequireTokens() {
  const label = useSignal('operator')
  return (
    <Panel title="Require tokens">
      <p>Until the first token exists, the server listens only on this machine, unless it was started with <code>--insecure-listen</code>.</p>
      <ol class="steps">
        <li>Create the first token. From then on the server requires tokens. The token is an operator’s: it is valid for all namespaces, and may do everything.</li>
        <li>Keep it in a safe place, and log in with it.</li>
        <li>Create tokens with fewer rights for programs and people at <a href="#/server?tab=tokens">Tokens</a>.</li>
      </ol>
      <div class="actions">
        <Action label="Create the first token" call={createToken} command={foliot('token', 'create', '--for', 'operator', '--scope', 'admin', '--label', label.value)}
          run={async () => {
            const { token } = await createToken({}, { scope: 'admin', namespace: '*', label: label.value || undefined })
            showOnce({ title: 'The first token', value: token!, text: 'From now on this page requires a token too: log in with it.', login: true })
          }}>
          <p>From now on every request needs a token, also on this machine. A request without one gets status 401. This cannot be undone.</p>
          <p>Tasks, also those that wait now, may no longer call this machine (127.0.0.1), unless the server runs with <code>--egress-allow</code>.</p>
          <Field label="Label" value={label} />
        </Action>
      </div>
    </Panel>
  )
}

// The sizes come from the metrics, whose sums include all namespaces.
const sizes = [
  ['foliot_tasks', 'tasks', count],
  ['foliot_task_body_bytes', 'in the records of tasks', bytes],
  ['foliot_store_bytes', 'used by the store', bytes],
  ['foliot_disk_free_bytes', 'free on the disk', bytes],
  ['foliot_disk_size_bytes', 'size of the disk', bytes],
] as const

// StorePanel shows how many tasks there are, and the bytes that they and the store take.
function StorePanel() {
  const reason = forbidden(cluster)
  const data = useData(async (signal) => (reason ? '' : await (await request('GET', 'metrics', {}, undefined, signal, '')).text()), [reason], 10000)
  const text = data.value
  return (
    <Panel title="Size of the store">
      {reason ? <p class="dim">{reason}</p> : <ProblemNote problem={data.problem} />}
      {text && (
        <div class="figures">
          {sizes.map(([name, title, show]) => {
            const value = metric(text, name)
            return value !== undefined && <div class="figure" key={name}><b>{show(value)}</b><span>{title}</span></div>
          })}
        </div>
      )}
    </Panel>
  )
}

function metric(text: string, name: string): number | undefined {
  const values = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))].map((m) => Number(m[1]))
  return values.length ? values.reduce((a, b) => a + b, 0) : undefined
}
