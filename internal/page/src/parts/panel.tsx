import type { ComponentChildren } from 'preact'

// Panel is one framed part of a page with a heading.
export function Panel({ title, aside, children, wide }: { title: string; aside?: ComponentChildren; children: ComponentChildren; wide?: boolean }) {
  return (
    <section class={'panel' + (wide ? ' wide' : '')} aria-label={title}>
      <header><h2>{title}</h2>{aside && <div class="aside">{aside}</div>}</header>
      {children}
    </section>
  )
}

// Facts is a list of names and values.
export function Facts({ of }: { of: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {of.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value ?? <span class="dim">—</span>}</dd></div>)}
    </dl>
  )
}

// Head is the title of a page with its actions.
export function Head({ title, children, about }: { title: ComponentChildren; children?: ComponentChildren; about?: ComponentChildren }) {
  return (
    <div class="head">
      <div><h1>{title}</h1>{about && <p class="dim">{about}</p>}</div>
      {children && <div class="actions">{children}</div>}
    </div>
  )
}
