import { isFailure, readRecent, type Recent } from '../../api/attempts'
import type { EndedAttempt, Live, LiveDestination } from '../../api/openapi.gen'
import { plural } from '../../format/number'
import { State } from '../../parts/badge'
import { DestinationLink } from '../../parts/host'
import { failuresInRow, failureWords, NextTest } from '../../parts/limit-reason'
import { Note, ProblemNote } from '../../parts/notice'
import { Panel } from '../../parts/panel'
import { errorText } from '../../parts/reply'
import { Time } from '../../parts/time'
import { useData } from '../../state/data'
import { otherNamespace } from '../../state/current-namespace'
import { selectedOrAll, serverNow, shared } from '../../state/session'

const shown = 8

const keyOf = (of: { namespace: string; destination: string }) => of.namespace + ' ' + of.destination

// Failing lists the destinations with a breaker that is not closed, and those with recent
// failures: the live data does not have the failures before the breaker opens.
export function Failing({ live }: { live: Live | null }) {
  const data = useData((signal) => readRecent(200, selectedOrAll(), signal), [], 5000)
  const attempts = Map.groupBy(data.value?.attempts ?? [], keyOf)
  const notClosed = new Map(live?.destinations.filter((d) => d.breaker !== 'closed').map((d) => [keyOf(d), d]))
  const rank = (key: string) => (notClosed.has(key) ? 2 : failuresInRow(attempts.get(key)!).length ? 1 : 0)
  const keys = [...new Set([...notClosed.keys(), ...attempts.keys()])].filter((key) => notClosed.has(key) || recent(attempts.get(key)!)).sort((a, b) => rank(b) - rank(a))
  return (
    <Panel title="Destinations that fail">
      <ProblemNote problem={data.problem} />
      {keys.length === 0 && data.value && <Note tone="good">No destination fails{shared() && ' on this server'}.</Note>}
      {keys.slice(0, shown).map((key) => <Destination key={key} of={notClosed.get(key)} attempts={attempts.get(key) ?? []} recent={data.value} />)}
      {keys.length > shown && <p class="dim">{plural(keys.length - shown, 'more destination')}: see <a href="#/destinations">Destinations</a>.</p>}
    </Panel>
  )
}

// recent reports whether the latest attempts failed, or any attempt in the last hour.
function recent(attempts: EndedAttempt[]): boolean {
  const last = attempts.find(isFailure)
  return failuresInRow(attempts).length > 0 || (last !== undefined && Date.parse(last.at) > serverNow() - 36e5)
}

function Destination({ of: d, attempts, recent }: { of?: LiveDestination; attempts: EndedAttempt[]; recent: Recent | null }) {
  const last = attempts.find(isFailure)
  const { namespace, destination } = d ?? last!
  return (
    <p>
      <State of={d?.breaker ?? 'failed'} /> {otherNamespace(namespace) && namespace + ' / '}<DestinationLink name={destination} namespace={namespace} />{' '}
      {last && recent && <>{failureWords(attempts, recent.since)}, the last <Time at={last.at} mode="relative" />: {errorText(last)}. </>}
      {d && d.overdue > 0 && plural(d.overdue, 'task') + ' overdue. '}
      {d && <NextTest at={d.open_until} />}
    </p>
  )
}
