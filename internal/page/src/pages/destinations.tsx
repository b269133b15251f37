import { List } from '../parts/destination/list'
import { One } from '../parts/destination/one'

// Destinations lists the receivers, or shows one.
export function Destinations({ name }: { name: string }) {
  return name ? <One name={name} /> : <List />
}
