import type { Node, Shard } from '../../api/openapi.gen'
import { plural } from '../../format/number'
import { Note } from '../../parts/notice'
import { Time } from '../../parts/time'

// Health says which nodes are not ready, and which tasks wait because of that.
export function Health({ nodes, shards }: { nodes: Node[]; shards: Shard[] }) {
  const unowned = shards.filter((s) => !s.owner)
  return (
    <>
      {nodes.filter((n) => !n.ready).map((n) => <Unready key={n.name} of={n} shards={shards} />)}
      {unowned.length > 0 && <Note tone="warn">{plural(unowned.length, 'shard')} without an owner: {unowned.length === 1 ? 'its' : 'their'} tasks wait until a node takes {unowned.length === 1 ? 'it' : 'them'}. <FirstDue of={unowned} /></Note>}
      <p class="dim">
        {plural(nodes.filter((n) => n.ready).length, 'node')} ready. A node without a heartbeat stays in the list for an hour. A node that is shut down leaves the list at once.
      </p>
    </>
  )
}

function Unready({ of: n, shards }: { of: Node; shards: Shard[] }) {
  const own = shards.filter((s) => s.owner === n.name)
  const last = own.map((s) => s.until ?? '').sort().at(-1)
  if (n.name_taken) return <Note tone="warn">The node <b>{n.name}</b> at {n.address} delivers nothing: another process has the same name. Give each node its own <code>--node</code> name.</Note>
  if (n.self) return <Note tone="warn">The node <b>{n.name}</b>, which replies to this page, is not ready. The overview has the reason.</Note>
  return (
    <Note tone="warn">
      The node <b>{n.name}</b> sends no heartbeat: its process ended or hangs, or it cannot reach Redis. {own.length > 0
        ? <>No node delivers the due tasks of its {plural(own.length, 'shard')} until its shard lease ends, <Time at={last} />. Then other nodes deliver them. <FirstDue of={own} /></>
        : <>Other nodes have taken over its shards. Their due tasks waited for up to the shard lease (<code>--shard-lease</code>). Tasks that were running there are sent again when their lease (<code>--lease</code>) ends.</>}
    </Note>
  )
}

function FirstDue({ of }: { of: Shard[] }) {
  const first = of.map((s) => s.next_due ?? '').filter(Boolean).sort()[0]
  return first ? <>Due time of the next task in these shards: <Time at={first} />.</> : <>These shards have no scheduled task.</>
}
