import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Icon } from './icon'

// Dialog is a window above the page. Escape, the cross and a click outside it close it.
export function Dialog({ title, onClose, children, wide }: { title: string; onClose: () => void; children: ComponentChildren; wide?: boolean }) {
  const ref = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const el = ref.current!
    const before = document.activeElement as HTMLElement | null
    el.showModal()
    return () => {
      el.close()
      before?.focus?.()
    }
  }, [])
  return (
    <dialog ref={ref} class={wide ? 'wide' : ''} aria-label={title} onCancel={(e) => (e.preventDefault(), onClose())} onMouseDown={(e) => e.target === ref.current && onClose()}>
      <div class="dialog">
        <header>
          <h2>{title}</h2>
          <button type="button" class="quiet" onClick={onClose} title="Close"><Icon name="close" /><span class="sr">Close</span></button>
        </header>
        {children}
      </div>
    </dialog>
  )
}
