import { useSignal } from '@preact/signals'
import { request } from '../../api/call'
import { cluster, createToken, listNamespaces, readyz } from '../../api/openapi.gen'
import { foliot } from '../../format/command'
import { bytes, count } from '../../format/number'
import { Action } from '../../parts/action'
import { Badge } from '../../parts/badge'
import { Field } from '../../parts/field'
import { Note, ProblemNote } from '../../parts/notice'
import { Facts, Panel } from '../../parts/panel'
import { Time } from '../../parts/time'
import { useData } from '../../state/data'
import { forbidden, me, operator } from '../../state/session'
import { showOnce } from './once'

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
      {!who.secured && <Close />}
      <Panel title="Overview">
        <Facts of={[
          ['Ready', ready.problem ? <><Badge tone="bad">not ready</Badge> {ready.problem.detail}</> : ready.value ? <Badge tone="good">ready</Badge> : '…'],
          ['Version', who.version],
          ['Node', who.node ?? (operator.value ? 'the only one' : undefined)],
          ['Started', self ? <Time at={self.started_at} /> : operator.value ? undefined : forbidden(cluster)],
          ['Store', who.store === 'shared' ? 'shared: servers share a Redis' : 'embedded: this server has its store for itself'],
          ['Durability', durabilities[who.durability] ?? who.durability],
          ['Access', who.secured ? <Badge tone="good">every request needs a token</Badge> : <Badge tone="warn">open: no token is needed</Badge>],
          ['Your token', who.token ? <><code>{who.token.id}</code> {who.token.label}, scope {who.scope}, {who.operator ? 'all namespaces' : who.namespace}{who.token.expires_at && <>, expires <Time at={who.token.expires_at} /></>}</> : 'none'],
        ]} />
      </Panel>
      <Space />
    </>
  )
}

// Close makes the first token. From then on every request needs one.
function Close() {
  const label = useSignal('operator')
  return (
    <Panel title="Require tokens">
      <Note tone="warn">This server has no tokens, so every caller may do everything. Until the first token exists, the server listens only on this machine.</Note>
      <ol class="steps">
        <li>Create the first token. It belongs to an operator: it is valid for all namespaces, and may do everything.</li>
        <li>Keep it in a safe place, and log in with it.</li>
        <li>Create smaller tokens for programs and people at <a href="#/server?tab=tokens">Tokens</a>.</li>
      </ol>
      <div class="actions">
        <Action label="Create the first token" call={createToken} command={foliot('token', 'create', '--for', 'operator', '--scope', 'admin', '--label', label.value)}
          run={async () => {
            const { token } = await createToken({}, { scope: 'admin', namespace: '*', label: label.value || undefined })
            showOnce({ title: 'The first token', value: token!, text: 'From now on this page needs a token too: log in with it.', login: true })
          }}>
          <p>From now on every request needs a token, also on this machine. Clients without one get 401.</p>
          <p>Tasks may no longer call this machine (127.0.0.1), waiting tasks included, unless the server runs with <code>--egress-allow</code>.</p>
          <Field label="Label" value={label} />
        </Action>
      </div>
    </Panel>
  )
}

const figures: [string, string][] = [['foliot_store_bytes', 'used by the store'], ['foliot_disk_free_bytes', 'free on the disk'], ['foliot_disk_size_bytes', 'size of the disk']]

// Space shows bytes of the records, and of the disk of an embedded store.
function Space() {
  const reason = forbidden(listNamespaces)
  const data = useData(async (signal) => {
    if (reason) return null
    const [{ namespaces }, reply] = await Promise.all([listNamespaces({ limit: 1000 }, undefined, signal), request('GET', 'metrics', {}, undefined, signal, true)])
    const text = await reply.text()
    const records = namespaces.reduce((n, { counts: c }) => n + c.scheduled + c.running + c.delivered + c.cancelled + c.expired + c.dead, 0)
    return { bytes: namespaces.reduce((n, { counts }) => n + counts.bytes, 0), records, figures: figures.map(([name, title]) => [title, metric(text, name)] as const) }
  }, [reason], 10000)
  return (
    <Panel title="Disk and bytes">
      {reason ? <p class="dim">{reason}</p> : <ProblemNote problem={data.problem} />}
      {data.value && (
        <div class="figures">
          <div class="figure"><b>{count(data.value.records)}</b><span>tasks</span></div>
          <div class="figure"><b>{bytes(data.value.bytes)}</b><span>in their records</span></div>
          {data.value.figures.map(([title, value]) => value !== undefined && <div class="figure" key={title}><b>{bytes(value)}</b><span>{title}</span></div>)}
        </div>
      )}
    </Panel>
  )
}

function metric(text: string, name: string): number | undefined {
  const values = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))].map((m) => Number(m[1]))
  return values.length ? values.reduce((a, b) => a + b, 0) : undefined
}
