import { Dialog } from './parts/dialog'

const keys: [string, string][] = [
  ['/', 'Go to the search field'],
  ['j  k', 'Next and previous row'],
  ['Enter', 'Open the row'],
  ['x', 'Select the row'],
  ['Space', 'Freeze or continue the wheel and the times'],
  ['z', 'Next time zone: mine, the schedule’s, UTC'],
  ['?', 'This help'],
]

export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl class="facts">{keys.map(([key, about]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{about}</dd></div>)}</dl>
      <p class="dim">Every filter is in the address of the page, so a link shows others what you see. Most dialogs show the command that does the same.</p>
    </Dialog>
  )
}
