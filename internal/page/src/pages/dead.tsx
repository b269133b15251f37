import { Head } from '../parts/panel'

export function Dead(_: { name: string }) {
  return <Head title="Dead" />
}
