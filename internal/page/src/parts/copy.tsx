import { useSignal } from '@preact/signals'
import { Icon } from './icon'

// Command shows a line to run in a shell, with a button that copies it.
export function Command({ text, label = 'The same as a command' }: { text: string; label?: string }) {
  return (
    <div class="command">
      <code tabIndex={0} aria-label={label}>{text}</code>
      <Copy text={text} />
    </div>
  )
}

export function Copy({ text, title = 'Copy' }: { text: string; title?: string }) {
  const done = useSignal('')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      done.value = 'Copied'
    } catch {
      done.value = 'The browser allows no copy here: select the text instead'
    }
    setTimeout(() => (done.value = ''), 2000)
  }
  return (
    <button type="button" class="quiet" title={title} onClick={copy}>
      <Icon name={done.value === 'Copied' ? 'good' : 'copy'} /><span class="sr" role="status">{done.value || title}</span>
    </button>
  )
}
