import { Head } from '../parts/panel'

export function Destinations(_: { name: string }) {
  return <Head title="Destinations" />
}
