import { Head } from '../parts/panel'

export function Server(_: { name: string }) {
  return <Head title="Server" />
}
