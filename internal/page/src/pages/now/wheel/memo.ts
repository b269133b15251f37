import { Component, h, type ComponentType, type FunctionComponent } from 'preact'

// memo returns a component that is drawn again only if a property changed.
export function memo<P extends object>(inner: FunctionComponent<P>): ComponentType<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      return (Object.keys(next) as (keyof P)[]).some((key) => next[key] !== this.props[key])
    }
    render() {
      return h(inner, this.props)
    }
  }
}
