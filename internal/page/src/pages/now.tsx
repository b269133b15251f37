import { Head } from '../parts/panel'

export function Now(_: { name: string }) {
  return <Head title="Now" />
}
