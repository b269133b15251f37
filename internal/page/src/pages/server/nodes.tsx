import { cluster, drainNode, listShards, undrainNode, type Cluster, type Node, type Shard } from '../../api/openapi.gen'
import { useSignal } from '@preact/signals'
import { foliot } from '../../format/command'
import { Action } from '../../parts/action'
import { Badge } from '../../parts/badge'
import { Command } from '../../parts/command'
import { Host } from '../../parts/host'
import { Loaded } from '../../parts/notice'
import { Panel } from '../../parts/panel'
import { Table } from '../../parts/table'
import { Time } from '../../parts/time'
import { useData } from '../../state/data'
import { forbidden, shared } from '../../state/session'
import { Health } from './health'
import { ShardsPanel } from './shards'
import { StoreCheck } from './store-check'

// Nodes shows the servers that share a store, and the owners of its shards.
export function Nodes() {
  const reason = forbidden(cluster)
  const data = useData((signal) => (reason ? Promise.resolve(null) : load(signal)), [reason], 3000)
  if (reason) return <Panel title="Nodes"><p class="dim">{reason}</p></Panel>
  const value = data.value
  return (
    <>
      <Panel title="Nodes">
        <Loaded data={data}>{(value) => value && (
          <>
            {shared() ? <Health {...value} /> : <p class="dim">This server does not share its store: there are no other nodes and no shards.</p>}
            <NodeTable nodes={value.nodes} done={data.reload} />
          </>
        )}</Loaded>
        <Command text={foliot('cluster', 'nodes')} />
      </Panel>
      {shared() && value && <ShardsPanel of={value.shards} />}
      {shared() && <StoreCheck />}
    </>
  )
}

async function load(signal: AbortSignal): Promise<{ nodes: Cluster['nodes']; shards: Shard[] }> {
  const [{ nodes }, { shards }] = await Promise.all([cluster({}, undefined, signal), shared() ? listShards({}, undefined, signal) : { shards: [] }])
  return { nodes, shards }
}

function NodeTable({ nodes, done }: { nodes: Node[]; done: () => void }) {
  return (
    <Table
      caption="List of nodes" rows={nodes} id={(n) => n.name ?? ''} keys={false}
      columns={[
        { title: 'Node', cell: (n) => <span>{n.name ?? 'this server'} {n.self && n.name && <small class="dim">replies to this page</small>}</span> },
        { title: 'State', cell: state },
        { title: 'Version', cell: (n) => n.version },
        { title: 'Started', cell: (n) => <Time at={n.started_at} /> },
        ...(shared() ? [
          { title: 'Address', cell: (n: Node) => <Host name={n.address ?? ''} /> },
          { title: 'Last heartbeat', cell: (n: Node) => <Time at={n.last_seen_at} mode="relative" /> },
          { title: 'Shards', number: true, cell: (n: Node) => (n.owned === n.wanted ? n.owned ?? 0 : `${n.owned ?? 0} (target ${n.wanted ?? 0})`) },
          { title: 'Actions', cell: (n: Node) => <Drain of={n} done={done} /> },
        ] : []),
      ]}
    />
  )
}

function state(n: Node) {
  if (n.name_taken) return <Badge tone="bad">name taken</Badge>
  if (!n.ready) return <Badge tone="bad">{n.self ? 'not ready' : 'no heartbeat'}</Badge>
  return n.draining ? <Badge tone="warn">drained</Badge> : <Badge tone="good">ready</Badge>
}

function Drain({ of: n, done }: { of: Node; done: () => void }) {
  const force = useSignal(false)
  const node = n.name!
  if (n.draining) return <Action quiet label="Undrain" title={'Undrain ' + node} call={undrainNode} command={foliot('cluster', 'drain', node, '--undo')} run={async () => (await undrainNode({ node }), `${node} takes shards again.`)} done={done}><p>The node {node} takes shards and starts attempts again.</p></Action>
  return (
    <Action quiet label="Drain" title={'Drain ' + node} call={drainNode} command={foliot('cluster', 'drain', node, force.value && '--force')} run={async () => (await drainNode({ node, force: force.value || undefined }), `${node} gives its shards to other nodes.`)} done={done}>
      <p>The node {node} gives its shards to the other nodes at once, and starts no attempts. Running attempts finish, and the node goes on serving the API. The drain ends with Undrain, or when the node stops.</p>
      <label><input type="checkbox" checked={force.value} onChange={(e) => (force.value = e.currentTarget.checked)} /> Drain it even if it is the last node that delivers. Then no task is delivered.</label>
    </Action>
  )
}
