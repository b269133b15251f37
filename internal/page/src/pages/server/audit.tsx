import { searchAudit } from '../../api/audit'
import { listAudit, type AuditEntry } from '../../api/openapi.gen'
import { foliotIn } from '../../format/command'
import { Command } from '../../parts/copy'
import { Empty, Loaded } from '../../parts/notice'
import { Pager } from '../../parts/pager'
import { Panel } from '../../parts/panel'
import { Table } from '../../parts/table'
import { Time } from '../../parts/time'
import { useData } from '../../state/data'
import { link, route, setQuery } from '../../state/route'
import { forbidden, selectedOrAll } from '../../state/session'

const fields = [['action', 'Action', 'task.cancel'], ['target', 'Target', 'a name or an id'], ['by', 'By', 'token:<id>']] as const

const targetPages: Record<string, string> = { task: 'task', schedule: 'schedules', queue: 'queues' }

function targetOf({ action, target = '', namespace }: AuditEntry) {
  const page = targetPages[action.split('.')[0]!]
  return page && target ? <a href={link(page, target, { namespace })}>{target}</a> : target
}

// Audit shows the log of changes, the newest first.
export function Audit() {
  const reason = forbidden(listAudit)
  const at = route.value.query
  const [action, target, by, cursor] = ['action', 'target', 'by', 'cursor'].map((k) => at.get(k) ?? undefined)
  const data = useData(async (signal) => (reason ? null : await searchAudit({ action: action as never, target, by }, 50, signal, cursor, selectedOrAll())), [reason, action, target, by, cursor], cursor ? 0 : action || target || by ? 30000 : 10000)
  if (reason) return <Panel title="Audit log"><p class="dim">{reason}</p></Panel>
  return (
    <Panel title="Audit log">
      <form class="filters" role="search" aria-label="Filter" onSubmit={(e) => e.preventDefault()}>
        {fields.map(([key, label, hint]) => (
          <label key={key} class="field"><span>{label}</span>
            <input type="search" data-search={key === 'target' ? '' : undefined} placeholder={hint} spellcheck={false} autocomplete="off" value={at.get(key) ?? ''} onChange={(e) => setQuery({ cursor: undefined, [key]: e.currentTarget.value.trim() })} />
          </label>
        ))}
      </form>
      <Loaded data={data}>{(list) => list && (
        <>
          <Table
            caption="Entries of the audit log" rows={list.items} id={(e) => [e.at, e.action, e.target, e.id, e.version].join()}
            columns={[
              { title: 'When', cell: (e) => <Time at={e.at} /> },
              { title: 'Action', cell: (e) => <span class="nowrap">{e.action}</span> },
              { title: 'Target', cell: targetOf },
              { title: 'By', cell: (e) => <span>{e.by} <small class="dim">{e.addr}</small></span> },
              { title: 'Namespace', cell: (e) => e.namespace ?? '' },
              { title: 'Detail', cell: (e) => e.detail ?? '' },
            ]}
            empty={list.next
              ? <Empty title="No entry found yet.">The next page continues the search.</Empty>
              : <Empty title={action || target || by ? 'No entry matches this filter.' : 'The log is empty.'}>Entries are removed when their retention ends (--audit-keep), or when the log is full.</Empty>}
          />
          <Pager next={list.next} />
        </>
      )}</Loaded>
      <Command text={foliotIn(selectedOrAll(), 'audit', ...(action ? ['--action', action] : []), ...(target ? ['--target', target] : []), ...(by ? ['--by', by] : []))} />
    </Panel>
  )
}
