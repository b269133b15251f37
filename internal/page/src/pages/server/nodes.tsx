import { cluster, drainNode, examineStore, listShards, undrainNode, type Node, type Shard } from '../../api/openapi.gen'
import { useSignal } from '@preact/signals'
import { foliot } from '../../format/command'
import { plural } from '../../format/number'
import { Action } from '../../parts/action'
import { Badge } from '../../parts/badge'
import { Command } from '../../parts/copy'
import { Loaded } from '../../parts/notice'
import { Panel } from '../../parts/panel'
import { Table } from '../../parts/table'
import { Time } from '../../parts/time'
import { useData } from '../../state/data'
import { forbidden, me } from '../../state/session'

// Nodes shows the servers that share a store, and the owners of its shards.
export function Nodes() {
  const reason = forbidden(cluster)
  const shared = me.value?.store === 'shared'
  const data = useData(async (signal) => (reason ? null : await cluster({}, undefined, signal)), [reason], 5000)
  if (reason) return <Panel title="Nodes"><p class="dim">{reason}</p></Panel>
  return (
    <>
      <Panel title="Nodes">
        {!shared && <p class="dim">The store of this server is embedded: there are no other nodes and no shards.</p>}
        <Loaded data={data}>{(c) => c && (
          <Table
            caption="List of nodes" rows={c.nodes} id={(n) => n.name ?? 'self'} keys={false}
            columns={[
              { title: 'Node', cell: (n) => <span>{n.name ?? 'this server'} {n.self && n.name && <small class="dim">replies to this page</small>}</span> },
              { title: 'State', cell: state },
              { title: 'Version', cell: (n) => n.version },
              { title: 'Started', cell: (n) => <Time at={n.started_at} /> },
              ...(shared ? [
                { title: 'Address', cell: (n: Node) => n.address ?? '' },
                { title: 'Last heartbeat', cell: (n: Node) => <Time at={n.last_seen_at} mode="relative" /> },
                { title: 'Shards', number: true, cell: (n: Node) => (n.owned === n.wanted ? n.owned ?? 0 : `${n.owned ?? 0} of ${n.wanted ?? 0}`) },
                { title: 'Actions', cell: (n: Node) => <Drain of={n} done={data.reload} /> },
              ] : []),
            ]}
          />
        )}</Loaded>
        <Command text={foliot('cluster', 'nodes')} />
      </Panel>
      {shared && <><Shards /><Findings /></>}
    </>
  )
}

function state(n: Node) {
  if (n.name_taken) return <Badge tone="bad">name taken</Badge>
  if (n.draining) return <Badge tone="warn">drained</Badge>
  return n.ready ? <Badge tone="good">ready</Badge> : <Badge tone="bad">not ready</Badge>
}

function Drain({ of: n, done }: { of: Node; done: () => void }) {
  const force = useSignal(false)
  const node = n.name!
  if (n.draining) return <Action quiet label="Undrain" call={undrainNode} command={foliot('cluster', 'drain', node, '--undo')} run={async () => (await undrainNode({ node }), `${node} takes shards again.`)} done={done}><p>The node {node} takes shards again, and starts attempts.</p></Action>
  return (
    <Action quiet label="Drain" call={drainNode} command={foliot('cluster', 'drain', node, force.value && '--force')} run={async () => (await drainNode({ node, force: force.value || undefined }), `${node} gives its shards to other nodes.`)} done={done}>
      <p>The node {node} gives its shards to the other nodes at once, and starts no attempts. Attempts under way finish, and it goes on serving the API. The drain ends with Undrain, or when the node stops.</p>
      <label><input type="checkbox" checked={force.value} onChange={(e) => (force.value = e.currentTarget.checked)} /> Even if it is the last node that delivers: then nothing is delivered</label>
    </Action>
  )
}

// Shards shows the owner of each shard as a small map, with the same data in a table.
function Shards() {
  const data = useData((signal) => listShards({}, undefined, signal), [], 5000)
  return (
    <Panel title="Shards">
      <Loaded data={data}>{({ shards }) => {
        const owners = [...new Set(shards.map((s) => s.owner ?? ''))].sort()
        return (
          <>
            <p>{owners.map((o) => `${o || 'no owner'}: ${plural(shards.filter((s) => (s.owner ?? '') === o).length, 'shard')}`).join(', ')}.</p>
            <ShardMap of={shards} owners={owners} />
            <p class="shard-key">{owners.map((o) => <span key={o}><b class="mono">{letter(owners, o)}</b> {o || 'no owner'}</span>)}</p>
            <details><summary>All shards as a table</summary>
              <Table
                caption="List of shards" rows={shards} id={(s) => String(s.shard)} keys={false}
                columns={[
                  { title: 'Shard', cell: (s) => s.shard },
                  { title: 'Owner', cell: (s) => s.owner ?? <Badge tone="bad">no owner</Badge> },
                  { title: 'Owned until', cell: (s) => <Time at={s.until} /> },
                  { title: 'Acquired', number: true, cell: (s) => `${s.epoch} times` },
                  { title: 'Running', number: true, cell: (s) => s.running },
                  { title: 'Next due', cell: (s) => <Time at={s.next_due} /> },
                ]}
              />
            </details>
          </>
        )
      }}</Loaded>
      <Command text={foliot('cluster', 'shards', '--all')} />
    </Panel>
  )
}

const letter = (owners: string[], owner: string): string => (owner ? String.fromCharCode(65 + (owners.filter(Boolean).indexOf(owner) % 26)) : '–')

function ShardMap({ of, owners }: { of: Shard[]; owners: string[] }) {
  const wide = Math.min(64, Math.max(16, Math.ceil(Math.sqrt(of.length * 4))))
  return (
    <svg class="shards" viewBox={`0 0 ${wide * 20} ${Math.ceil(of.length / wide) * 20}`} role="img" aria-label="The owner of each shard. The table below has the same data.">
      {of.map((s, i) => {
        const at = owners.filter(Boolean).indexOf(s.owner ?? '')
        const x = (i % wide) * 20
        const y = Math.floor(i / wide) * 20
        return (
          <g key={s.shard} class={s.owner ? `owner-${at % 4}` : 'none'}>
            <title>{`Shard ${s.shard}: ${s.owner ?? 'no owner'}, ${s.running} running`}</title>
            <rect x={x + 1} y={y + 1} width="18" height="18" rx="3" /><text x={x + 10} y={y + 14}>{letter(owners, s.owner ?? '')}</text>
          </g>
        )
      })}
    </svg>
  )
}

function Findings() {
  const data = useData((signal) => examineStore({}, undefined, signal), [])
  return (
    <Panel title="Findings about the store" aside={<button type="button" onClick={data.reload}>Examine again</button>}>
      <Loaded data={data}>{({ findings }) => (
        <Table
          caption="List of findings" rows={findings} id={(f) => f.check + f.says} keys={false}
          columns={[{ title: 'Check', cell: (f) => f.check }, { title: 'Result', cell: (f) => (f.ok ? <Badge tone="good">good</Badge> : <Badge tone="bad">problem</Badge>) }, { title: 'Finding', cell: (f) => f.says }]}
        />
      )}</Loaded>
      <Command text={foliot('doctor')} />
    </Panel>
  )
}
