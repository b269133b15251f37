import { List } from './list'
import { One } from './one'

// Destinations lists the receivers, or shows one.
export function Destinations({ name }: { name: string }) {
  return name ? <One name={name} /> : <List />
}
