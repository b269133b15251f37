import { useSignal } from '@preact/signals'
import { noCommand } from '../../format/command'
import { Copy } from '../../parts/copy'
import { Dialog } from '../../parts/dialog'
import { asCurl, asFile, asFoliot, asGo } from './export-code'
import { bodyKind, type TaskRead } from './read'

const languages = { foliot: asFoliot, curl: asCurl, Go: asGo } as const
type Language = keyof typeof languages

// CopyAs shows texts that create the same task again. Values of headers and the body
// appear only on request: they may be secret.
export function CopyAs({ read }: { read: TaskRead }) {
  const open = useSignal(false)
  return (
    <>
      <button type="button" data-action="Copy as" onClick={() => (open.value = true)}>Copy as…</button>
      {open.value && <Texts read={read} onClose={() => (open.value = false)} />}
    </>
  )
}

function Texts({ read, onClose }: { read: TaskRead; onClose: () => void }) {
  const language = useSignal<Language>('foliot')
  const secrets = useSignal(false)
  const named = useSignal(false)
  const { task } = read
  const ofSchedule = task.name.includes('@')
  const secret = Object.keys(task.http?.headers ?? {}).length > 0 || bodyKind(read) !== 'none'
  const choice = { named: named.value, secrets: secrets.value }
  const text = languages[language.value](read, choice)
  const file = language.value === 'foliot' ? asFile(read, choice) : language.value === 'Go' && bodyKind(read) === 'bytes'
  return (
    <Dialog title="Copy as" onClose={onClose} wide>
      <p>This creates the same task again, with the same {task.delay ? 'delay' : 'due time'}.</p>
      <fieldset class="choice"><legend>As</legend>
        {(Object.keys(languages) as Language[]).map((l) => (
          <label key={l}><input type="radio" name="language" checked={language.value === l} onChange={() => (language.value = l)} /> {l === 'Go' ? 'Go client' : l}</label>
        ))}
      </fieldset>
      <div class="choice">
        {secret && <label><input type="checkbox" checked={secrets.value} onChange={(e) => (secrets.value = e.currentTarget.checked)} /> {task.work ? 'With the arguments' : 'With the values of headers and the body'}</label>}
        <label><input type="checkbox" checked={named.value} disabled={ofSchedule} onChange={(e) => (named.value = e.currentTarget.checked)} /> With its name</label>
      </div>
      {named.value && <p class="dim">The server refuses the name until the record of this task is removed.</p>}
      {ofSchedule && <p class="dim">Only its schedule can make a task with this name.</p>}
      {text === noCommand ? <p class="copied">{text}</p> : <div class="body"><pre class="copied" tabIndex={0} aria-label="Text to copy">{text}</pre><Copy text={text} /></div>}
      {file && secrets.value && <p class="dim">{language.value === 'Go' ? <>Download the body first, and read the file into <code>body</code></> : <>Save the body as <code>body.bin</code> first: the command reads this file</>}.</p>}
      <footer><button type="button" class="quiet" onClick={onClose}>Close</button></footer>
    </Dialog>
  )
}
