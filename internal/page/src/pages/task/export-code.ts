import type { Task } from '../../api/openapi.gen'
import { commandLine, foliot, hasControl, noCommand, plainJSON, quote, withToken } from '../../format/command'
import { millis } from '../../format/time'
import { me, namespace } from '../../state/session'
import { bodyKind, bodyText, type TaskRead } from './read'

// Texts that create a task again. They leave out the fields that have their defaults.

export interface Choice {
  named: boolean // with the name of the task
  secrets: boolean // with the values of headers, and the body
}

const hiddenValue = '…'

function headers(t: Task, c: Choice): Record<string, string> {
  return Object.fromEntries(Object.entries(t.http?.headers ?? {}).map(([k, v]) => [k, c.secrets ? v : hiddenValue]))
}

const server = () => new URL('..', document.baseURI).href.replace(/\/$/, '')

// bodyMark stands for the body in a text. No header or label can have this character.
const bodyMark = '\u0000'

// asCurl returns a request of the API. The body is inserted as it is, because a
// JSON value of the page would round large numbers.
export function asCurl(read: TaskRead, c: Choice): string {
  const { task: t, body } = read
  const shown = body === undefined ? undefined : c.secrets ? bodyMark : hiddenValue
  const http = t.http && {
    url: t.http.url, method: t.http.method === 'POST' ? undefined : t.http.method, headers: t.http.headers && headers(t, c), body: shown,
    body_base64: body !== undefined ? undefined : c.secrets ? t.http.body_base64 : t.http.body_base64 && hiddenValue,
  }
  const work = t.work && { kind: t.work.kind, args: shown }
  const spec: Record<string, unknown> = {
    ...(c.named ? { name: t.name } : {}), queue: t.queue, ...(t.delay ? { delay: t.delay } : { at: t.at ?? t.due_at }), http, work,
    timeout: t.timeout, expire_after: t.expire_after, priority: t.priority === 'normal' ? undefined : t.priority, labels: t.labels, retry: t.retry, on_dead: t.on_dead,
  }
  const json = plainJSON(JSON.stringify(spec).replace(JSON.stringify(bodyMark), () => body!))
  const lines = [`${me.value?.secured ? withToken : 'curl'} --json ${quote(json)}`]
  if (namespace.value) lines.push(`-H ${quote('Foliot-Namespace: ' + namespace.value)}`)
  return commandLine([...lines, quote(server() + '/v1/tasks')], ' \\\n  ')
}

export function asFoliot(read: TaskRead, c: Choice): string {
  const { task: t } = read
  const kind = bodyKind(read)
  const text = c.secrets ? (kind === 'json' ? plainJSON(bodyText(read)) : bodyText(read)) : hiddenValue
  const r = t.retry
  // A text that begins with @ would name a file.
  const piped = kind === 'text' && text.startsWith('@') && !asFile(read, c)
  const command = foliot(
    'add', ...(t.work ? ['--kind', t.work.kind] : [t.http?.url]), ...(t.delay ? ['--in', t.delay] : ['--at', t.at ?? t.due_at]), ...(c.named ? ['--name', t.name] : []),
    ...(t.http?.method && t.http.method !== 'POST' ? ['-X', t.http.method] : []), ...Object.entries(headers(t, c)).flatMap(([k, v]) => ['-H', `${k}: ${v}`]),
    ...(kind === 'none' ? [] : kind === 'json' ? [`--${t.work ? 'args' : 'json'}=${text}`] : ['--data=' + (asFile(read, c) ? '@body.bin' : piped ? '@-' : text)]),
    '--queue', t.queue, ...(t.priority === 'normal' ? [] : ['--priority', t.priority]), ...Object.entries(t.labels ?? {}).flatMap(([k, v]) => ['--label', `${k}=${v}`]),
    '--timeout', t.timeout, ...(t.expire_after ? ['--expire-after', t.expire_after] : []),
    ...(r.max_attempts ? ['--max-attempts', String(r.max_attempts)] : []),
    ...flag('--min-backoff', r.min_backoff), ...flag('--max-backoff', r.max_backoff), ...flag('--max-age', r.max_age), ...flag('--on-dead', t.on_dead),
  )
  return piped && command !== noCommand ? `printf %s ${quote(text)} | ${command}` : command
}

// asFile reports whether a command must read the body from a file.
export function asFile(read: TaskRead, c: Choice): boolean {
  const kind = bodyKind(read)
  return kind === 'bytes' || kind === 'text' && c.secrets && hasControl(bodyText(read))
}

const flag = (name: string, value?: string) => (value ? [name, value] : [])

export function asGo(read: TaskRead, c: Choice): string {
  const { task: t } = read
  const kind = bodyKind(read)
  const text = c.secrets ? bodyText(read) : hiddenValue
  const r = t.retry
  const field = (name: string, value: string | undefined, tab = '\t') => (value ? [`${tab}${name}: ${value},`] : [])
  const map = (of: Record<string, string>) => `map[string]string{${Object.entries(of).map(([k, v]) => `${go(k)}: ${go(v)}`).join(', ')}}`
  const body = kind === 'json' ? `client.JSON(json.RawMessage(${go(text)}))` : kind === 'text' ? `client.Text(${go(text)})` : kind === 'bytes' ? 'client.Bytes(body)' : ''
  return [
    't, err := c.Tasks.Create(ctx, client.Spec{',
    ...field('Name', c.named ? go(t.name) : ''), ...field('Queue', go(t.queue)),
    ...(t.delay ? field('Delay', millis(t.delay) > 0 ? duration(t.delay) : '') : field('At', goTime(t.at ?? t.due_at))),
    ...(t.work ? [`\tWork: client.Work{Kind: ${go(t.work.kind)}${body && `, Args: ${body}`}},`] : [
      '\tHTTP: client.HTTP{',
      ...field('URL', go(t.http?.url ?? ''), '\t\t'), ...field('Method', t.http?.method === 'POST' ? '' : go(t.http?.method ?? ''), '\t\t'),
      ...field('Headers', t.http?.headers && map(headers(t, c)), '\t\t'), ...field('Body', body, '\t\t'),
      '\t},',
    ]),
    ...field('Timeout', duration(t.timeout)), ...field('ExpireAfter', t.expire_after && limit(t.expire_after)),
    ...field('Priority', t.priority === 'normal' ? '' : go(t.priority)), ...field('Labels', t.labels && map(t.labels)),
    `\tRetry: client.Retry{MaxAttempts: ${r.max_attempts || 'client.Unlimited'}, MinBackoff: ${duration(r.min_backoff ?? '1s')}, MaxBackoff: ${duration(r.max_backoff ?? '1h')}, MaxAge: ${limit(r.max_age ?? '24h')}},`,
    ...field('OnDead', t.on_dead && `client.NotifyURL(${go(t.on_dead)})`),
    '})',
  ].join('\n')
}

// go returns a string literal of Go.
function go(text: string): string {
  if (!text) return '""'
  if (/^[^`\r\u0000-\u0008\u000b-\u001f\ufeff]*$/.test(text) && /["\\\n]/.test(text)) return '`' + text + '`'
  // Escapes of JSON are valid in Go, except those of lone halves of a character.
  return JSON.stringify(text).replace(/\\ud[89a-f][0-9a-f]{2}/g, '\\ufffd')
}

// duration returns a duration of the API as an expression of Go.
function duration(of: string): string {
  const ms = Math.round(millis(of))
  for (const [size, unit] of [[36e5, 'Hour'], [6e4, 'Minute'], [1e3, 'Second']] as const) {
    if (ms >= size && ms % size === 0) return `${ms === size ? '' : ms / size + ' * '}time.${unit}`
  }
  return `${ms} * time.Millisecond`
}

const limit = (of: string): string => (millis(of) === 0 ? 'client.Forever' : `client.Duration(${duration(of)})`)

function goTime(at: string): string {
  return `time.UnixMilli(${Date.parse(at)})`
}
