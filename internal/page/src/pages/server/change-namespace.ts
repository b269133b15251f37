import { guarded, Refusal, request } from '../../api/call'
import { putNamespace, type Namespace, type NamespaceInput } from '../../api/openapi.gen'

export const quotaKeys = ['max_pending', 'max_bytes', 'create_rate', 'create_burst', 'change_rate', 'read_rate', 'edit_rate'] as const

export type Quota = (typeof quotaKeys)[number]

// changeNamespace changes some settings of a namespace, and keeps the others: a PUT
// replaces all of them. It refuses the change if the settings are not those that the
// user has seen. Lists have no tags, so it reads the namespace for its tag.
export async function changeNamespace(seen: Namespace, some: NamespaceInput): Promise<void> {
  const reply = await request('GET', 'v1/namespaces/' + encodeURIComponent(seen.name), {}, undefined, undefined, '')
  const tag = reply.headers.get('ETag') // none: the settings were never changed
  const now = (await reply.json()) as Namespace
  const change = () => putNamespace({ name: seen.name, ...(tag ? { ifMatch: tag } : { ifNoneMatch: '*' }) }, { ...inputOf(now), ...some })
  const todo = `Another user has changed the settings of ${seen.name}. Close this dialog to see the new settings.`
  await guarded(now.version === seen.version ? change() : Promise.reject(conflict), todo)
}

const conflict = new Refusal({ type: 'about:blank', title: '', status: 412, code: 'precondition_failed', detail: '' })

function inputOf(n: Namespace): NamespaceInput {
  const out: NamespaceInput = { suspended: n.suspended, hide_payloads: n.hide_payloads, kinds: n.kinds }
  for (const key of quotaKeys) out[key] = n[key]
  return out
}
