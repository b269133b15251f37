import { signal, useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { deleteNamespace, listNamespaces, putNamespace, type Namespace } from '../../api/openapi.gen'
import { guarded, Refusal } from '../../api/call'
import { foliot } from '../../format/command'
import { bytes, count, plural } from '../../format/number'
import { Action } from '../../parts/action'
import { Badge } from '../../parts/badge'
import { Command } from '../../parts/command'
import { Field } from '../../parts/field'
import { Loaded } from '../../parts/notice'
import { Pager } from '../../parts/pager'
import { Panel } from '../../parts/panel'
import { Table } from '../../parts/table'
import { useData } from '../../state/data'
import { route } from '../../state/route'
import { forbidden } from '../../state/session'
import { changeNamespace, type Quota } from './change-namespace'

const quotas: [key: Quota, label: string, none: string][] = [
  ['max_pending', 'Tasks and schedules that are pending (max_pending)', 'no limit'],
  ['max_bytes', 'Bytes of all records (max_bytes)', 'no limit'],
  ['create_rate', 'Creates per second (create_rate)', 'no limit'],
  ['create_burst', 'Creates at once (create_burst)', 'as many as in one second'],
  ['change_rate', 'Changes per second (change_rate)', 'the same as creates'],
  ['read_rate', 'Reads per second (read_rate)', '1,000'],
  ['edit_rate', 'Edits of queues, tokens and secrets per second (edit_rate)', '2'],
]

// Namespaces lists the namespaces with what they use, and changes their settings.
export function Namespaces() {
  const reason = forbidden(listNamespaces)
  const cursor = route.value.query.get('cursor') ?? undefined
  const data = useData(reason ? null : (signal) => listNamespaces({ limit: 100, cursor }, undefined, signal), [reason, cursor], cursor ? 0 : 10000)
  if (reason) return <Panel title="Namespaces"><p class="dim">{reason}</p></Panel>
  return (
    <Panel title="Namespaces" aside={<CreateNamespace done={data.reload} />}>
      <Loaded data={data}>{(list) => (
        <>
          <Table
            caption="List of namespaces" rows={list.namespaces} id={(n) => n.name}
            columns={[
              { title: 'Name', cell: (n) => n.name },
              { title: 'State', cell: (n) => <span>{n.suspended ? <Badge tone="warn">suspended</Badge> : <Badge tone="good">active</Badge>} {n.hide_payloads && <Badge tone="info">payloads hidden</Badge>} {n.kinds && <Badge tone="info">kinds</Badge>}</span> },
              { title: 'Pending', number: true, cell: (n) => usage(n.counts.scheduled + n.counts.running + n.schedules, n.max_pending, count) },
              { title: 'Bytes', number: true, cell: (n) => usage(n.counts.bytes, n.max_bytes, bytes) },
              { title: 'Schedules', number: true, cell: (n) => count(n.schedules) },
              { title: 'Dead', number: true, cell: (n) => count(n.counts.dead) },
              { title: 'Creates/s', number: true, cell: (n) => n.create_rate ?? <span class="dim">no limit</span> },
              { title: 'Actions', cell: (n) => <div class="actions"><EditSettings of={n} done={data.reload} /><Suspend of={n} done={data.reload} /><HidePayloads of={n} done={data.reload} /><DeleteNamespace of={n} done={data.reload} /></div> },
            ]}
          />
          <Pager next={list.next_cursor} />
        </>
      )}</Loaded>
      <Command text={foliot('namespace', 'ls')} />
    </Panel>
  )
}

function usage(n: number, most: number | undefined, show: (n: number) => string) {
  return most ? <span class={n >= most ? 'bad' : ''}>{show(n)} of {show(most)}{n >= most ? ' (full)' : ''}</span> : show(n)
}

function CreateNamespace({ done }: { done: () => void }) {
  const name = useSignal('')
  return (
    <Action label="Create a namespace" call={putNamespace} command={name.value && foliot('namespace', 'set', name.value)} done={done}
      run={async () => (await guarded(putNamespace({ name: name.value, ifNoneMatch: '*' }, {}), 'A namespace with this name exists already.'), `The namespace ${name.value} is created.`)}>
      <p>A namespace has its own tasks, queues, tokens, secrets and audit log. It has no quotas at first.</p>
      <Field label="Name" value={name} placeholder="acme" required />
    </Action>
  )
}

const quotaText = (n?: number) => (n === undefined ? '' : String(n))

// EditSettings starts again with the settings of the server each time it closes.
function EditSettings({ of: n, done }: { of: Namespace; done: () => void }) {
  const turn = useSignal(0)
  const fields = useMemo(() => quotas.map(([key, label, none]) => ({ key, label, none, value: signal(quotaText(n[key])) })), [n.version, turn.value])
  const changed = fields.filter((f) => f.value.value.trim() !== quotaText(n[f.key]))
  const wrong = (text: string) => (Number(text) >= 0 ? undefined : 'must be a number')
  const valid = changed.length > 0 && !changed.some((f) => wrong(f.value.value))
  const run = async () => {
    if (!valid) throw new Refusal({ type: 'about:blank', title: 'Not saved.', status: 0, code: 'internal', detail: changed.length ? 'Correct the marked fields.' : 'Nothing is changed.' })
    await changeNamespace(n, Object.fromEntries(changed.map((f) => [f.key, f.value.value.trim() === '' ? undefined : Number(f.value.value)])))
    return 'The settings are saved.'
  }
  return (
    <Action quiet label="Edit settings" title={`Settings of ${n.name}`} call={putNamespace} run={run} closed={() => (turn.value++, done())}
      command={valid ? foliot('namespace', 'set', n.name, ...changed.flatMap((f) => ['--' + f.key.replace('_', '-'), String(Number(f.value.value) || (f.key === 'create_burst' ? 0 : 'unlimited'))])) : ''}>
      <p>An empty field takes its default. Rates are per server.</p>
      <div class="form">{fields.map((f) => <Field key={f.key} label={f.label} value={f.value} placeholder={`default (${f.none})`} error={wrong(f.value.value)} />)}</div>
    </Action>
  )
}

function Suspend({ of: n, done }: { of: Namespace; done: () => void }) {
  return (
    <Action quiet danger={!n.suspended} label={n.suspended ? 'Resume' : 'Suspend'} title={`${n.suspended ? 'Resume' : 'Suspend'} ${n.name}`} call={putNamespace} closed={done}
      command={foliot('namespace', 'set', n.name, n.suspended ? '--no-suspended' : '--suspended')}
      run={async () => (await changeNamespace(n, { suspended: !n.suspended }), n.suspended ? `${n.name} is active.` : `${n.name} is suspended.`)}>
      {n.suspended
        ? <p>Due tasks start. Each schedule handles missed instants as its setting “missed” says.</p>
        : <p>No task of {n.name} is created or sent, and no schedule creates a task. Its own tokens can only read. Tasks wait and use no attempt.</p>}
    </Action>
  )
}

function HidePayloads({ of: n, done }: { of: Namespace; done: () => void }) {
  return (
    <Action quiet label={n.hide_payloads ? 'Stop hiding payloads' : 'Hide payloads'} title={`${n.hide_payloads ? 'Stop hiding' : 'Hide'} payloads of ${n.name}`} call={putNamespace} closed={done}
      command={foliot('namespace', 'set', n.name, n.hide_payloads ? '--no-hide-payloads' : '--hide-payloads')}
      run={async () => (await changeNamespace(n, { hide_payloads: !n.hide_payloads }), n.hide_payloads ? 'The payloads are visible.' : 'The payloads are hidden.')}>
      <p>{n.hide_payloads ? 'Tokens of scope read can see bodies, headers and replies again.' : 'Tokens of scope read can no longer see bodies and headers of requests, and replies of receivers. URLs, labels and statuses stay visible.'}</p>
    </Action>
  )
}

function DeleteNamespace({ of: n, done }: { of: Namespace; done: () => void }) {
  const { bytes: _, ...counts } = n.counts
  const tasks = Object.values(counts).reduce((a, b) => a + b, 0)
  const off = n.name === 'default' ? 'The namespace default cannot be deleted.'
    : tasks ? `It has ${plural(tasks, 'task')}. Finished tasks count too, until their retention ends.`
      : n.schedules ? `It has ${plural(n.schedules, 'schedule')}.` : ''
  return (
    <Action quiet danger label="Delete" title={`Delete ${n.name}`} call={deleteNamespace} off={off} type={n.name} command={foliot('namespace', 'rm', n.name)} done={done}
      run={async () => (await deleteNamespace({ name: n.name }), `The namespace ${n.name} is deleted.`)}>
      <p>Its queue settings and its secrets are deleted too. The server refuses this while {n.name} has valid tokens: revoke them first.</p>
    </Action>
  )
}
