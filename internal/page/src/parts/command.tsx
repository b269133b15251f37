import { Copy } from './copy'

// Command shows a line to run in a shell, with a button that copies it.
export function Command({ text, label = 'The same as a command' }: { text: string; label?: string }) {
  return (
    <div class="command">
      <code tabIndex={0} aria-label={label}>{text}</code>
      <Copy text={text} />
    </div>
  )
}
