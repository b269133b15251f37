import { useSignal } from '@preact/signals'
import { createToken, listTokens, revokeToken, type Token } from '../../api/openapi.gen'
import { foliot, foliotIn } from '../../format/command'
import { plural } from '../../format/number'
import { Action } from '../../parts/action'
import { State } from '../../parts/badge'
import { Command } from '../../parts/command'
import { Field } from '../../parts/field'
import { Empty, Loaded } from '../../parts/notice'
import { Pager } from '../../parts/pager'
import { Panel } from '../../parts/panel'
import { Table } from '../../parts/table'
import { Time } from '../../parts/time'
import { useData } from '../../state/data'
import { route } from '../../state/route'
import { forbidden, me, operator, selectedOrAll } from '../../state/session'
import { showOnce } from './one-time-value'

// Tokens lists the access tokens, creates new ones, and revokes them.
export function Tokens() {
  const reason = forbidden(listTokens)
  const cursor = route.value.query.get('cursor') ?? undefined
  const data = useData(reason ? null : (signal) => listTokens.in(selectedOrAll())({ limit: 100, cursor }, undefined, signal), [reason, cursor], cursor ? 0 : 10000)
  if (reason) return <Panel title="Tokens"><p class="dim">{reason}</p></Panel>
  return (
    <Panel title="Tokens" aside={<CreateToken done={data.reload} />}>
      <Loaded data={data}>{(list) => (
        <>
          <Table
            caption="List of tokens" rows={list.tokens} id={(t) => t.id}
            columns={[
              { title: 'Token', cell: (t) => <div>{t.label && <div>{t.label}</div>}<code class="nowrap">{t.id}</code>{t.id === me.value?.token?.id && <small class="dim"> yours</small>}</div> },
              { title: 'Scope', cell: (t) => <div>{t.scope} <small class="dim">in {t.namespace === '*' ? 'all namespaces (operator)' : t.namespace}</small></div> },
              { title: 'State', cell: (t) => <State of={t.state} /> },
              { title: 'Last used', cell: (t) => (t.last_used_at ? <Time at={t.last_used_at} /> : <span class="dim">never</span>) },
              { title: 'Expires', cell: (t) => (t.expires_at ? <Time at={t.expires_at} /> : <span class="dim">never</span>) },
              { title: 'Created', cell: (t) => <span><Time at={t.created_at} />{t.parent && <small class="dim"> with {t.parent}</small>}</span> },
              { title: 'Actions', cell: (t) => <RevokeToken of={t} done={data.reload} /> },
            ]}
            empty={<Empty title="There are no tokens." command={foliot('token', 'create', '--for', 'operator', '--scope', 'admin')}>The server requires no token: everyone who can reach it may do everything. The <a href="#/server">overview</a> says how to require tokens.</Empty>}
          />
          <Pager next={list.next_cursor} />
        </>
      )}</Loaded>
      <Command text={foliotIn(selectedOrAll(), 'token', 'ls')} />
    </Panel>
  )
}

function CreateToken({ done }: { done: () => void }) {
  const scope = useSignal<string>('write')
  const target = useSignal(me.value?.namespace ?? 'default')
  const label = useSignal('')
  const expires = useSignal('')
  const all = ['*', 'operator'].includes(target.value)
  const run = async () => {
    const reply = await createToken({}, {
      scope: scope.value as Token['scope'], label: label.value || undefined, expires_in: expires.value || undefined,
      namespace: operator.value ? (all ? '*' : target.value) : undefined,
    })
    showOnce({ title: 'The new token', value: reply.token!, text: 'foliot reads it from the variable FOLIOT_TOKEN, or from the file that FOLIOT_TOKEN_FILE names.' })
  }
  return (
    <Action label="Create a token" call={createToken} run={run} done={done} off={me.value?.secured ? '' : 'The first token must be an operator’s of scope admin. Create it on the tab Overview.'}
      command={foliot('token', 'create', '--scope', scope.value, ...(operator.value ? ['--for', all ? 'operator' : target.value] : []), ...(label.value ? ['--label', label.value] : []), ...(expires.value ? ['--expires', expires.value] : []))}>
      <div class="form">
        <Field label="Scope" value={scope} options={[['read', 'read: see tasks, schedules and queues'], ['write', 'write: also change tasks and schedules'], ['admin', 'admin: also change queues, tokens and secrets']]} />
        {operator.value && <Field label="Namespace" value={target} hint="operator: all namespaces, and the server itself" required />}
        <Field label="Label" value={label} placeholder="shop, production" />
        <Field label="Valid for (expires_in)" value={expires} placeholder="2160h" hint="A duration such as 90m or 2160h. Empty: until it is revoked, but not longer than your token." />
      </div>
    </Action>
  )
}

function RevokeToken({ of: t, done }: { of: Token; done: () => void }) {
  const children = useSignal(false)
  const force = useSignal(false)
  const own = t.id === me.value?.token?.id
  const run = async () => {
    const reply = await revokeToken.in(selectedOrAll())({ id: t.id, children: children.value || undefined, force: force.value || undefined })
    return `Revoked.${reply.active_children ? ` ${plural(reply.active_children, 'token')} created with it ${reply.active_children === 1 ? 'is' : 'are'} still valid.` : ''}`
  }
  return (
    <Action quiet danger label="Revoke" title={`Revoke ${t.label || t.id}`} call={revokeToken} off={t.state === 'active' ? '' : `The token is already ${t.state}.`} run={run} done={done}
      command={foliotIn(selectedOrAll(), 'token', 'revoke', t.id, children.value && '--children', force.value && '--yes')}>
      <p>All servers refuse the token from now on. This cannot be undone. {own && <b>It is your own token: this session ends.</b>}</p>
      <label><input type="checkbox" checked={children.value} onChange={(e) => (children.value = e.currentTarget.checked)} /> Also revoke all tokens that were created with it, directly or indirectly. Select this if the token leaked.</label>
      {t.namespace === '*' && t.scope === 'admin' && <label><input type="checkbox" checked={force.value} onChange={(e) => (force.value = e.currentTarget.checked)} /> Revoke it even if it is the last operator’s token of scope admin. Then the server cannot be managed any more.</label>}
    </Action>
  )
}
