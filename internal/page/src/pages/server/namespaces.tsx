import { signal, useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { deleteNamespace, getNamespace, listNamespaces, putNamespace, type Namespace, type NamespaceInput } from '../../api/openapi.gen'
import { foliot } from '../../format/command'
import { bytes, count } from '../../format/number'
import { Action } from '../../parts/action'
import { Badge } from '../../parts/badge'
import { Command } from '../../parts/copy'
import { Field } from '../../parts/field'
import { Loaded } from '../../parts/notice'
import { Panel } from '../../parts/panel'
import { Table } from '../../parts/table'
import { useData } from '../../state/data'
import { link, route } from '../../state/route'
import { forbidden } from '../../state/session'

const quotas = [
  ['max_pending', 'Pending tasks and schedules at most', 'no limit'],
  ['max_bytes', 'Bytes of all records at most', 'no limit'],
  ['create_rate', 'Creates per second', 'no limit'],
  ['create_burst', 'Creates at once', 'those of one second'],
  ['change_rate', 'Changes per second', 'as creates'],
  ['read_rate', 'Reads per second', '1000'],
  ['edit_rate', 'Edits of settings per second', '2'],
] as const

type Quota = (typeof quotas)[number][0]

// Namespaces lists the namespaces with what they use, and changes their quotas.
export function Namespaces() {
  const reason = forbidden(listNamespaces)
  const cursor = route.value.query.get('cursor') ?? undefined
  const data = useData(async (signal) => (reason ? null : await listNamespaces({ limit: 100, cursor }, undefined, signal)), [reason, cursor], cursor ? 0 : 10000)
  if (reason) return <Panel title="Namespaces"><p class="dim">{reason}</p></Panel>
  return (
    <Panel title="Namespaces" aside={<Create done={data.reload} />}>
      <Loaded data={data}>{(list) => list && (
        <>
          <Table
            caption="List of namespaces" rows={list.namespaces} id={(n) => n.name}
            columns={[
              { title: 'Name', cell: (n) => n.name },
              { title: 'State', cell: (n) => <span>{n.suspended ? <Badge tone="warn">suspended</Badge> : <Badge tone="good">active</Badge>} {n.hide_payloads && <Badge tone="info">payloads hidden</Badge>}</span> },
              { title: 'Pending', number: true, cell: (n) => used(n.counts.scheduled + n.counts.running + n.schedules, n.max_pending, count) },
              { title: 'Bytes', number: true, cell: (n) => used(n.counts.bytes, n.max_bytes, bytes) },
              { title: 'Schedules', number: true, cell: (n) => count(n.schedules) },
              { title: 'Dead', number: true, cell: (n) => count(n.counts.dead) },
              { title: 'Creates per second', number: true, cell: (n) => n.create_rate ?? <span class="dim">no limit</span> },
              { title: 'Actions', cell: (n) => <div class="actions"><Quotas of={n} done={data.reload} /><Flags of={n} done={data.reload} /><Delete of={n} done={data.reload} /></div> },
            ]}
          />
          <div class="actions">
            {cursor && <button type="button" onClick={() => history.back()}>Previous page</button>}
            {list.next_cursor && <a class="button" href={link('server', '', { tab: 'namespaces', cursor: list.next_cursor })}>Next page</a>}
          </div>
        </>
      )}</Loaded>
      <Command text={foliot('namespace', 'ls')} />
    </Panel>
  )
}

function used(n: number, most: number | undefined, show: (n: number) => string) {
  return most ? <span class={n >= most ? 'bad' : ''}>{show(n)} of {show(most)}{n >= most ? ' (full)' : ''}</span> : show(n)
}

// input returns the settings of a namespace, because a PUT replaces all of them.
function input(n: Namespace): NamespaceInput {
  const out: NamespaceInput = { suspended: n.suspended, hide_payloads: n.hide_payloads }
  for (const [key] of quotas) out[key] = n[key]
  return out
}

// change sets some settings of a namespace, and keeps the others as they are now.
async function change(name: string, some: NamespaceInput): Promise<void> {
  await putNamespace({ name }, { ...input(await getNamespace({ name })), ...some })
}

function Create({ done }: { done: () => void }) {
  const name = useSignal('')
  return (
    <Action label="Create a namespace" call={putNamespace} command={foliot('namespace', 'set', name.value || '…')} done={done}
      run={async () => (await putNamespace({ name: name.value, ifNoneMatch: '*' }, {}), `The namespace ${name.value} exists now.`)}>
      <p>A namespace has its own tasks, queues, tokens, secrets and audit log. It has no quotas at first.</p>
      <Field label="Name" value={name} placeholder="acme" required />
    </Action>
  )
}

function Quotas({ of: n, done }: { of: Namespace; done: () => void }) {
  const fields = useMemo(() => Object.fromEntries(quotas.map(([key]) => [key, signal(n[key] === undefined ? '' : String(n[key]))])) as Record<Quota, ReturnType<typeof signal<string>>>, [n.version])
  const changed = quotas.filter(([key]) => fields[key].value !== (n[key] === undefined ? '' : String(n[key])))
  const run = async () => {
    if (changed.length === 0) throw new Error('Nothing has been changed.')
    await change(n.name, Object.fromEntries(changed.map(([key]) => [key, fields[key].value === '' ? undefined : Number(fields[key].value)])))
    return 'The quotas are changed.'
  }
  return (
    <Action quiet label="Quotas" title={`Quotas of ${n.name}`} call={putNamespace} run={run} done={done}
      command={foliot('namespace', 'set', n.name, ...changed.flatMap(([key]) => ['--' + key.replace('_', '-'), fields[key].value || 'unlimited']))}>
      <p>An empty field sets no limit, or takes the default. Rates are per server.</p>
      <div class="form">{quotas.map(([key, label, none]) => <Field key={key} label={label} value={fields[key] as never} placeholder={none} />)}</div>
    </Action>
  )
}

function Flags({ of: n, done }: { of: Namespace; done: () => void }) {
  return (
    <>
      <Action quiet danger={!n.suspended} label={n.suspended ? 'Resume' : 'Suspend'} title={`${n.suspended ? 'Resume' : 'Suspend'} ${n.name}`} call={putNamespace} done={done}
        command={foliot('namespace', 'set', n.name, n.suspended ? '--no-suspended' : '--suspended')}
        run={async () => (await change(n.name, { suspended: !n.suspended }), n.suspended ? `${n.name} is active again.` : `${n.name} is suspended.`)}>
        {n.suspended
          ? <p>Due tasks start, and schedules treat missed instants by their rules.</p>
          : <p>No task of {n.name} is created or sent, and no schedule fires. Its own tokens can only read. Tasks wait and use no attempt.</p>}
      </Action>
      <Action quiet label={n.hide_payloads ? 'Show payloads' : 'Hide payloads'} call={putNamespace} done={done}
        command={foliot('namespace', 'set', n.name, n.hide_payloads ? '--no-hide-payloads' : '--hide-payloads')}
        run={async () => (await change(n.name, { hide_payloads: !n.hide_payloads }), 'Changed.')}>
        <p>{n.hide_payloads ? 'Tokens of scope read see bodies, headers and replies again.' : 'Tokens of scope read no longer see bodies and headers of requests, and replies of receivers. URLs, labels and statuses stay visible.'}</p>
      </Action>
    </>
  )
}

function Delete({ of: n, done }: { of: Namespace; done: () => void }) {
  const { bytes: _, ...counts } = n.counts
  const tasks = Object.values(counts).reduce((a, b) => a + b, 0)
  const off = n.name === 'default' ? 'The namespace default cannot be deleted.'
    : tasks ? `It has ${count(tasks)} tasks. Finished tasks count too, until their retention ends.`
      : n.schedules ? `It has ${count(n.schedules)} schedules.` : ''
  return (
    <Action quiet danger label="Delete" title={`Delete ${n.name}`} call={deleteNamespace} off={off} type={n.name} command={foliot('namespace', 'rm', n.name)} done={done}
      run={async () => (await deleteNamespace({ name: n.name }), `The namespace ${n.name} is deleted.`)}>
      <p>Its queue settings and its secrets are deleted too. The server refuses this while it has valid tokens: revoke them first.</p>
    </Action>
  )
}
