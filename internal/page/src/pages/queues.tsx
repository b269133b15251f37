import { List } from '../parts/queue/list'
import { One } from '../parts/queue/one'

// Queues lists the queues, or shows one.
export function Queues({ name }: { name: string }) {
  return name ? <One name={name} /> : <List />
}
