import { List } from './list'
import { One } from './one'

// Queues lists the queues, or shows one.
export function Queues({ name }: { name: string }) {
  return name ? <One name={name} /> : <List />
}
