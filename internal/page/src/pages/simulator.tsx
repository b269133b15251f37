import { Head } from '../parts/panel'

export function Simulator(_: { name: string }) {
  return <Head title="Simulator" />
}
