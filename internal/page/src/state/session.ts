import { computed, signal } from '@preact/signals'
import type { Call } from '../api/call'
import type { Identity } from '../api/openapi.gen'

// The session is the token of the user, with the rights that the server reports. The
// token stays in sessionStorage: it ends with the tab, and no other site can send it.

const tokenKey = 'foliot.token'
const namespaceKey = 'foliot.namespace'

export const token = signal(sessionStorage.getItem(tokenKey) ?? '')
// namespace is the one that an operator selected. Empty: that of the token. It becomes a
// part of all commands and requests, and a link may name it, so it is always a valid name.
export const namespace = signal('')
export const me = signal<Identity | null>(null)
// logoutReason is the reason why the session ended, shown above the login.
export const logoutReason = signal('')

// The clock of the user may be wrong, so times are relative to the server's.
const clockOffset = signal(0)
export const serverNow = (): number => Date.now() + clockOffset.value

export function setNow(now: string): void {
  const server = Date.parse(now)
  if (!Number.isNaN(server)) clockOffset.value = server - Date.now()
}

export function logIn(secret: string): void {
  sessionStorage.setItem(tokenKey, secret)
  token.value = secret
  logoutReason.value = ''
}

// endedSessions counts the sessions that ended. A session without a token ends too: when
// the server gets its first token.
export const endedSessions = signal(0)

// logOut forgets the token and the rights.
export function logOut(reason = ''): void {
  sessionStorage.removeItem(tokenKey)
  sessionStorage.removeItem(namespaceKey)
  token.value = ''
  namespace.value = ''
  me.value = null
  endedSessions.value++
  logoutReason.value = reason
}

// validNamespace reports whether a namespace may have the name.
export const validNamespace = (name: string): boolean => /^[0-9A-Za-z][0-9A-Za-z._:-]{0,255}$/.test(name)

// selectNamespace selects a namespace, or that of the token if name is '' or invalid.
export function selectNamespace(name: string): void {
  name = validNamespace(name) ? name : ''
  sessionStorage.setItem(namespaceKey, name)
  namespace.value = name
}

selectNamespace(sessionStorage.getItem(namespaceKey) ?? '')

// shared reports whether several servers may share the store. Then live data, history
// and attempts are those of one server.
export function shared(): boolean {
  return me.value?.store === 'shared'
}

// requestNamespace returns the namespace that a request names. An operator's request
// always names one: without it, some replies have the records of all namespaces.
export function requestNamespace(): string {
  return namespace.value || (operator.value ? 'default' : '')
}

// selectedOrAll returns the namespace that a list of all namespaces names: the one that
// an operator selected, or none.
export function selectedOrAll(): string {
  return namespace.value
}

// ifOperator returns a namespace for a request about it. The token of a namespace
// needs none.
export function ifOperator(name: string): string {
  return operator.value ? name : ''
}

const rank = { '': 0, read: 1, write: 2, admin: 3 }

// forbidden returns the reason why the session may not make a call, or ''.
export function forbidden(call: Pick<Call<never, never, unknown>, 'scope' | 'operator'>): string {
  const who = me.value
  if (!who) return 'The page does not know your rights yet.'
  if (rank[who.scope] < rank[call.scope]) return `This needs a token of scope ${call.scope}. Yours has scope ${who.scope}.`
  if (call.operator && !who.operator) return 'This needs a token of an operator, which is valid for all namespaces.'
  return ''
}

export const operator = computed(() => me.value?.operator ?? false)
