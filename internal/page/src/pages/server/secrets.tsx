import { useSignal } from '@preact/signals'
import { createSecret, deleteSecret, listSecrets, type Secret } from '../../api/openapi.gen'
import { foliot } from '../../format/command'
import { Action } from '../../parts/action'
import { Command } from '../../parts/command'
import { Field } from '../../parts/field'
import { Empty, Loaded } from '../../parts/notice'
import { Panel } from '../../parts/panel'
import { Table } from '../../parts/table'
import { Time } from '../../parts/time'
import { useData } from '../../state/data'
import { link } from '../../state/route'
import { forbidden } from '../../state/session'
import { showOnce } from './one-time-value'

// Secrets lists the secrets that sign callbacks.
export function Secrets() {
  const reason = forbidden(listSecrets)
  const data = useData(reason ? null : (signal) => listSecrets({}, undefined, signal), [reason])
  if (reason) return <Panel title="Signing secrets"><p class="dim">{reason}</p></Panel>
  return (
    <Panel title="Signing secrets" aside={<CreateSecret done={data.reload} />}>
      <Loaded data={data}>{(list) => (
        <Table
          caption="List of secrets" rows={list.secrets} id={(s) => s.id}
          columns={[
            { title: 'Id', cell: (s) => <code>{s.id}</code> },
            { title: 'Signs callbacks of', cell: (s) => (s.queue ? <a href={link('queues', s.queue)}>queue {s.queue}</a> : 'all queues without their own secret') },
            { title: 'Created', cell: (s) => <Time at={s.created_at} /> },
            { title: 'Signs until', cell: (s) => <div>{s.expires_at ? <Time at={s.expires_at} /> : <span class="dim">you delete it</span>}{s.beside_until && <p class="dim">The secrets of the namespace also sign until <Time at={s.beside_until} mode="full" />.</p>}</div> },
            { title: 'Actions', cell: (s) => <DeleteSecret of={s} done={data.reload} /> },
          ]}
          empty={<Empty title="Callbacks are not signed." command={foliot('secret', 'create')}>With a secret, a receiver can check that a callback comes from this server.</Empty>}
        />
      )}</Loaded>
      <Command text={foliot('secret', 'ls')} />
    </Panel>
  )
}

function CreateSecret({ done }: { done: () => void }) {
  const queue = useSignal('')
  const overlap = useSignal('24h')
  return (
    <Action label="Create a secret" call={createSecret} done={done}
      run={async () => {
        const { secret } = await createSecret({}, { queue: queue.value || undefined, overlap: overlap.value || undefined })
        showOnce({ title: 'The new secret', value: secret!, text: 'Give it to the receivers. They check the header webhook-signature with it.' })
      }}
      command={foliot('secret', 'create', ...(queue.value ? ['--queue', queue.value] : []), ...(overlap.value ? ['--overlap', overlap.value] : []))}>
      <p>The new secret signs callbacks at once. The old secret also signs them until the overlap ends, so receivers have that long to accept the new one. At most two secrets sign at the same time.</p>
      <div class="form">
        <Field label="Queue" value={queue} placeholder="all" hint="Only callbacks of this queue. Empty: all queues without their own secret." />
        <Field label="Overlap" value={overlap} hint="How long the old secret also signs. Empty: until you delete it. For the first secret of a queue, empty means: the secrets of the namespace stop at once." />
      </div>
    </Action>
  )
}

function DeleteSecret({ of: s, done }: { of: Secret; done: () => void }) {
  return (
    <Action quiet danger label="Delete" title="Delete the secret" call={deleteSecret} run={async () => (await deleteSecret({ id: s.id }), 'The secret is deleted.')} done={done} command={foliot('secret', 'rm', s.id)}>
      <p>The secret signs no callback any more. {s.queue ? `If the queue ${s.queue} has no other secret, the secrets of the namespace sign its callbacks again.` : 'If the namespace has no other secret, its callbacks are sent without a signature, and receivers that check it refuse them.'}</p>
    </Action>
  )
}
