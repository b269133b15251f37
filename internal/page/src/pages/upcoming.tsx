import { Head } from '../parts/panel'

export function Upcoming(_: { name: string }) {
  return <Head title="Upcoming" />
}
