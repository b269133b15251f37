import { QueuePage } from './queue'
import { QueueList } from './queue-list'

// Queues lists the queues, or shows one.
export function Queues({ name }: { name: string }) {
  return name ? <QueuePage name={name} /> : <QueueList />
}
