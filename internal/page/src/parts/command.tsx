import { noCommand } from '../format/command'
import { Copy } from './copy'

// Command shows a line to run in a shell, with a button that copies it.
export function Command({ text, label = 'The same as a command' }: { text: string; label?: string }) {
  if (text === noCommand) return <p class="dim">{noCommand}</p>
  return (
    <div class="command">
      <code tabIndex={0} aria-label={label}>{text}</code>
      <Copy text={text} />
    </div>
  )
}
