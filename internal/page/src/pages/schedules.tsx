import { Head } from '../parts/panel'

export function Schedules(_: { name: string }) {
  return <Head title="Schedules" />
}
