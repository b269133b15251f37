import { Head } from '../parts/panel'

export function Queues(_: { name: string }) {
  return <Head title="Queues" />
}
