import type { ComponentChildren } from 'preact'
import { bytes, plural } from '../../format/number'
import { indent } from '../../format/json'
import { Copy } from '../../parts/copy'
import { Masked } from '../../parts/masked'
import { Facts, Panel } from '../../parts/panel'
import { bodyKind, bodyText, bytesOf, type TaskRead } from './read'

// Request shows what the server sends, or the call of a handler. A URL is text and no link: it is
// written by a client of the server, and may be hostile.
export function Request({ read }: { read: TaskRead }) {
  const { task } = read
  const { http } = task
  const headers = Object.entries(http?.headers ?? {})
  return (
    <Panel title={http ? 'Request' : 'Work'}>
      <Facts of={[
        ...(http ? [
          ['Method', <code>{http.method ?? 'POST'}</code>],
          ['URL', <span class="url"><code>{http.url}</code><Copy text={http.url} title="Copy the URL" /></span>],
        ] as [string, ComponentChildren][] : [['Kind', <code>{task.work?.kind}</code>] as [string, ComponentChildren]]),
        ...(task.on_dead ? [['On dead', <code>{task.on_dead}</code>] as [string, ComponentChildren]] : []),
      ]} />
      {task.hidden
        ? <p class="dim">The namespace hides bodies, headers and replies from tokens of scope read. A token of scope write shows them.</p>
        : <>
          {http && <h3>Headers</h3>}
          {!http ? null : headers.length === 0 ? <p class="dim">None. The server adds its own headers to each attempt.</p> : (
            <div><Masked label={plural(headers.length, 'header')}>
              <Facts of={headers.map(([name, value]) => [name, <code>{value}</code>])} />
            </Masked></div>
          )}
          <h3>{http ? 'Body' : 'Arguments'}</h3>
          <Body read={read} />
        </>}
    </Panel>
  )
}

function Body({ read }: { read: TaskRead }) {
  const kind = bodyKind(read)
  const { body_size: size = 0, http, work } = read.task
  const noun = work ? 'arguments' : 'body'
  if (kind === 'none') return <p class="dim">{size > 0 || read.task.finished_at ? `The server has not kept the ${noun}.` : 'None.'}</p>
  const label = `the ${noun}: ${kind === 'bytes' ? 'bytes' : kind === 'json' ? 'JSON' : 'text'}, ${bytes(size)}`
  return <div><Masked label={label}>{kind === 'bytes' ? <Bytes base64={http!.body_base64!} name={read.task.name} /> : <Text read={read} />}</Masked></div>
}

function Text({ read }: { read: TaskRead }) {
  const text = bodyText(read)
  const shown = bodyKind(read) === 'json' ? indent(text) : text
  return (
    <div class="body">
      <pre tabIndex={0} aria-label="Body">{shown.slice(0, 100000)}</pre>
      <Copy text={text} title="Copy the body" />
    </div>
  )
}

function Bytes({ base64, name }: { base64: string; name: string }) {
  const all = bytesOf(base64)
  const save = () => {
    const href = URL.createObjectURL(new Blob([all], { type: 'application/octet-stream' }))
    Object.assign(document.createElement('a'), { href, download: name.replace(/[^\w.-]/g, '_') + '.bin' }).click()
    setTimeout(() => URL.revokeObjectURL(href), 60000)
  }
  return (
    <>
      <pre tabIndex={0} aria-label="First bytes of the body">{hex(all.subarray(0, 256))}</pre>
      <p class="actions"><span class="dim">{all.length > 256 ? `The first 256 of ${bytes(all.length)}.` : ''}</span><button type="button" onClick={save}>Download</button></p>
    </>
  )
}

function hex(of: Uint8Array): string {
  const lines = []
  for (let i = 0; i < of.length; i += 16) {
    const row = [...of.subarray(i, i + 16)]
    lines.push(`${i.toString(16).padStart(4, '0')}  ${row.map((b) => b.toString(16).padStart(2, '0')).join(' ').padEnd(47)}  ${row.map((b) => (b > 31 && b < 127 ? String.fromCharCode(b) : '.')).join('')}`)
  }
  return lines.join('\n')
}
