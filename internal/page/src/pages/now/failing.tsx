import { listAttempts, type EndedAttempt, type Live, type LiveDestination } from '../../api/openapi.gen'
import { grouped } from '../../format/group'
import { plural } from '../../format/number'
import { State } from '../../parts/badge'
import { DestinationLink } from '../../parts/host'
import { failuresInRow, NextTest } from '../../parts/limit'
import { Note, ProblemNote } from '../../parts/notice'
import { Panel } from '../../parts/panel'
import { errorText } from '../../parts/reply'
import { Time } from '../../parts/time'
import { useData } from '../../state/data'
import { elsewhere } from '../../state/here'

const shown = 8

const keyOf = (of: { namespace: string; destination: string }) => of.namespace + ' ' + of.destination

// Failing lists the destinations with a breaker that is not closed, and those whose
// latest attempts failed: the live data does not have the failures before the breaker
// opens.
export function Failing({ live }: { live: Live | null }) {
  const data = useData((signal) => listAttempts({ limit: 200 }, undefined, signal), [], 5000)
  const failures = new Map([...grouped(data.value?.attempts ?? [], keyOf)].map(([key, all]) => [key, failuresInRow(all)]))
  const open = new Map(live?.destinations.filter((d) => d.breaker !== 'closed').map((d) => [keyOf(d), d]))
  const keys = [...new Set([...open.keys(), ...failures.keys()])].filter((key) => open.has(key) || failures.get(key)!.length)
  return (
    <Panel title="Destinations that fail">
      <ProblemNote problem={data.problem} />
      {keys.length === 0 && data.value && <Note tone="good">No destination fails.</Note>}
      {keys.slice(0, shown).map((key) => <Destination key={key} of={open.get(key)} failures={failures.get(key) ?? []} />)}
      {keys.length > shown && <p class="dim">{plural(keys.length - shown, 'more destination')}: see <a href="#/destinations">Destinations</a>.</p>}
    </Panel>
  )
}

function Destination({ of: d, failures }: { of?: LiveDestination; failures: EndedAttempt[] }) {
  const last = failures[0]
  const { namespace, destination } = d ?? last!
  return (
    <p>
      <State of={d?.breaker ?? 'failed'} /> {elsewhere(namespace) && namespace + ' / '}<DestinationLink name={destination} namespace={namespace} />{' '}
      {last && <>{plural(failures.length, 'failure')} in a row, the last <Time at={last.at} mode="relative" />: {errorText(last)}. </>}
      {d && d.overdue > 0 && plural(d.overdue, 'task') + ' overdue. '}
      {d && <NextTest at={d.open_until} />}
    </p>
  )
}
