import { searchAudit } from '../../api/audit'
import { listAudit, type AuditEntry } from '../../api/openapi.gen'
import { foliotIn } from '../../format/command'
import { Command } from '../../parts/command'
import { Bound, FilterForm, Parameter } from '../../parts/filters'
import { Empty, Loaded } from '../../parts/notice'
import { Pager } from '../../parts/pager'
import { Panel } from '../../parts/panel'
import { Table } from '../../parts/table'
import { Time } from '../../parts/time'
import { useData } from '../../state/data'
import { link, route } from '../../state/route'
import { forbidden, selectedOrAll } from '../../state/session'

type Action = NonNullable<Parameters<typeof listAudit>[0]['action']>

// known has each action, so that the compiler notices one that is missing.
const known: Record<Action, true> = {
  'task.patch': true, 'task.touch': true, 'task.run': true, 'task.retry': true, 'task.cancel': true,
  'tasks.cancel': true, 'tasks.retry': true, 'tasks.move': true,
  'schedule.put': true, 'schedule.pause': true, 'schedule.resume': true, 'schedule.delete': true, 'schedule.backfill': true,
  'queue.put': true, 'queue.delete': true, 'queue.pause': true, 'queue.resume': true, 'queue.purge': true, 'queue.purged': true,
  'namespace.put': true, 'namespace.delete': true, 'token.create': true, 'token.revoke': true, 'secret.create': true, 'secret.delete': true,
  'node.drain': true, 'node.undrain': true, 'backup.take': true, 'token.refuse': true, 'scope.refuse': true,
}

const targetPages: Record<string, string> = { task: 'task', schedule: 'schedules', queue: 'queues' }

function targetOf({ action, target = '', namespace }: AuditEntry) {
  const page = targetPages[action.split('.')[0]!]
  return page && target ? <a href={link(page, target, { namespace })}>{target}</a> : target
}

// Audit shows the log of changes, the newest first.
export function Audit() {
  const reason = forbidden(listAudit)
  const at = route.value.query
  const cursor = at.get('cursor') ?? undefined
  const filter = Object.fromEntries(['action', 'target', 'by', 'from', 'until'].filter((k) => at.get(k)).map((k) => [k, at.get(k)!])) as { action?: Action; target?: string; by?: string; from?: string; until?: string }
  const some = Object.keys(filter).length > 0
  const data = useData(reason ? null : (signal) => searchAudit(filter, 50, signal, cursor, selectedOrAll()), [reason, JSON.stringify(filter), cursor], cursor ? 0 : some ? 30000 : 10000)
  if (reason) return <Panel title="Audit log"><p class="dim">{reason}</p></Panel>
  return (
    <Panel title="Audit log">
      <FilterForm>
        <Parameter name="action" label="Action" options={Object.keys(known).map((a) => [a, a])} />
        <Parameter name="target" label="Target" hint="a name or an id" main />
        <Parameter name="by" label="By" hint="token:<id>" />
        <Bound name="from" label="At or after" />
        <Bound name="until" label="Before" />
      </FilterForm>
      <p class="dim">The changes of queues, namespaces, tokens and secrets, changes by filter, and what people changed at tasks and schedules, with this page or the command line. Tasks that programs changed are not here: each shows the token that changed it last.</p>
      <Loaded data={data}>{(list) => (
        <>
          <Table
            caption="Entries of the audit log" rows={list.items} id={(e) => [e.at, e.action, e.target, e.id, e.version].join()}
            columns={[
              { title: 'When', cell: (e) => <Time at={e.at} mode="full" /> },
              { title: 'Action', cell: (e) => <span class="nowrap">{e.action}</span> },
              { title: 'Target', cell: targetOf },
              { title: 'By', cell: (e) => <span>{e.by} <small class="dim">{e.addr}</small></span> },
              { title: 'Namespace', cell: (e) => e.namespace ?? '' },
              { title: 'Detail', cell: (e) => e.detail ?? '' },
            ]}
            empty={list.next
              ? <Empty title="No entry found yet.">The next page continues the search.</Empty>
              : <Empty title={some ? 'No entry matches this filter.' : 'The log is empty.'}>It has the changes that people make with this page or the command line, and changes of settings, until their retention ends (--audit-keep).</Empty>}
          />
          <Pager next={list.next} />
        </>
      )}</Loaded>
      <Command text={foliotIn(selectedOrAll(), 'audit', ...Object.entries(filter).flatMap(([key, value]) => ['--' + (key === 'from' ? 'since' : key), value]))} />
    </Panel>
  )
}
