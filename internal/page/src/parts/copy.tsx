import { useSignal } from '@preact/signals'
import { Icon } from './icon'

// Copy is a button that copies a text.
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
