import type { Shard } from '../../api/openapi.gen'
import { foliot } from '../../format/command'
import { plural } from '../../format/number'
import { Badge } from '../../parts/badge'
import { Command } from '../../parts/command'
import { Panel } from '../../parts/panel'
import { Table } from '../../parts/table'
import { Time } from '../../parts/time'

// ShardsPanel shows the owner of each shard as a small map, with the same data in a
// table.
export function ShardsPanel({ of: shards }: { of: Shard[] }) {
  const owners = [...new Set(shards.map((s) => s.owner ?? ''))].sort()
  return (
    <Panel title="Shards">
      <ShardMap of={shards} owners={owners} />
      <p class="shard-key">{owners.map((o) => <span key={o}><b class="mono">{letter(owners, o)}</b> {o || 'no owner'}: {plural(shards.filter((s) => (s.owner ?? '') === o).length, 'shard')}</span>)}</p>
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
        const x = (i % wide) * 20
        const y = Math.floor(i / wide) * 20
        return (
          <g key={s.shard} class={s.owner ? `owner-${owners.filter(Boolean).indexOf(s.owner) % 4}` : 'none'}>
            <title>{`Shard ${s.shard}: ${s.owner ?? 'no owner'}, ${s.running} running`}</title>
            <rect x={x + 1} y={y + 1} width="18" height="18" rx="3" /><text x={x + 10} y={y + 14}>{letter(owners, s.owner ?? '')}</text>
          </g>
        )
      })}
    </svg>
  )
}
