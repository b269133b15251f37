import { logOut, me, requestNamespace, token } from '../state/session'
import type { Problem } from './openapi.gen'

// Refusal is the error of a call that the server refused, or that did not reach it.
export class Refusal extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail)
  }
}

// guarded makes a change that is refused (412) if the record has another version than
// the user has seen, or exists already. Then the error has the text todo, which
// says what the user must do, and the field if there is one.
export async function guarded<T>(change: Promise<T>, todo: string, field?: string): Promise<T> {
  try {
    return await change
  } catch (err) {
    if (err instanceof Refusal && err.problem.status === 412) throw new Refusal({ ...err.problem, title: 'Not changed.', detail: todo, field })
    throw err
  }
}

// Call is one operation of the API with the scope that it needs.
export interface Call<P, B, R> {
  (params: P, body?: B, signal?: AbortSignal): Promise<R>
  // in returns the same operation in another namespace, or without one if that is ''.
  in(namespace: string): (params: P, body?: B, signal?: AbortSignal) => Promise<R>
  method: string
  path: string
  scope: '' | 'read' | 'write' | 'admin'
  operator: boolean
}

// behind has the nodes that had not applied the last change.
let behind: string[] = []

// notYet returns a sentence about the nodes that had not applied the last change, or ''.
export const notYet = () => (behind.length ? ` After two seconds these nodes had not applied the change: ${behind.join(', ')}.` : '')

type Scalar = string | number | boolean | null | undefined

// call makes the Call of an operation. Parameters in braces belong to the path,
// those in headers are sent as headers, and all others are query parameters.
export function call<P, B, R>(
  method: string,
  path: string,
  scope: Call<P, B, R>['scope'],
  operator: boolean,
  headers: Record<string, string> = {},
): Call<P, B, R> {
  const send = async (params: P, body?: B, signal?: AbortSignal, namespace = operator ? '' : requestNamespace()): Promise<R> => {
    const sent: Record<string, string> = {}
    const query = new URLSearchParams()
    let filled = path
    for (const [name, value] of Object.entries(params as Record<string, Scalar | string[]>)) {
      if (value === undefined || value === null || value === '') continue
      if (path.includes(`{${name}}`)) filled = filled.replace(`{${name}}`, encodeURIComponent(String(value)))
      else if (name in headers) sent[headers[name]!] = String(value)
      else for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one))
    }
    const reply = await request(method, filled + (query.size ? '?' + query : ''), sent, body, signal, namespace)
    const out = (await reply.json()) as R & { unconfirmed?: string[] }
    if (method !== 'GET') behind = out.unconfirmed ?? []
    return out
  }
  const within = (namespace: string) => (params: P, body?: B, signal?: AbortSignal) => send(params, body, signal, namespace)
  return Object.assign(send, { in: within, method, path, scope, operator })
}

// url returns the address of a path of the server. The page lies in the folder ui
// of the server, under any path of a proxy.
export function url(path: string): string {
  return new URL('../' + path, document.baseURI).href
}

// request sends a request with the token of the session. Without a namespace it concerns
// the whole server. It throws a Refusal for
// every reply other than 2xx. If the server refuses the token, the session ends. A body of type string is JSON already.
export async function request(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: unknown,
  signal?: AbortSignal,
  namespace = requestNamespace(),
): Promise<Response> {
  const used = token.value
  headers['Foliot-Client'] = 'page' // a person makes the change, so the audit log has it
  if (used) headers['Authorization'] = 'Bearer ' + used
  if (namespace) headers['Foliot-Namespace'] = namespace
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  let reply: Response
  try {
    reply = await fetch(url(path), {
      method,
      headers,
      body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
      signal,
      cache: 'no-store',
      credentials: 'same-origin',
    })
  } catch (err) {
    if (signal?.aborted) throw err
    throw new Refusal(unreachable)
  }
  if (reply.ok) return reply
  const problem = await problemOf(reply)
  // A late refusal of an earlier token must not end the session of the present one.
  // An open server that gets its first token ends the sessions without one.
  if (reply.status === 401 && used === token.value && (used !== '' || me.value)) logOut(problem.detail)
  throw new Refusal(problem)
}

const unreachable: Problem = {
  type: 'about:blank',
  title: 'No connection',
  status: 0,
  code: 'unavailable',
  detail: 'The server does not reply. If this was a change, check whether it was made before you repeat it.',
}

async function problemOf(reply: Response): Promise<Problem> {
  try {
    const problem = (await reply.json()) as Problem
    if (problem.detail) return problem
  } catch {
    // A proxy sent the reply.
  }
  return { ...unreachable, title: reply.statusText, status: reply.status, detail: `A proxy replied ${reply.status} ${reply.statusText}.` }
}
