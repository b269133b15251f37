import { DestinationPage } from './destination'
import { DestinationList } from './destination-list'

// Destinations lists the receivers, or shows one.
export function Destinations({ name }: { name: string }) {
  return name ? <DestinationPage name={name} /> : <DestinationList />
}
