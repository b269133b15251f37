import { Head } from '../parts/panel'

export function Task(_: { name: string }) {
  return <Head title="Task" />
}
