import type { Live, LiveQueue, Queue } from '../../api/openapi.gen'
import { count } from '../../format/number'
import { link } from '../../state/route'
import { shared } from '../../state/session'
import { Facts, Panel } from '../../parts/panel'
import { Usage } from '../../parts/usage'
import type { Recent } from '../../parts/attempts'
import { running } from '../../parts/limit-reason'

// Limits shows the limits of a queue against what runs.
export function Limits({ queue: q, now, live, attempts }: { queue: Queue; now?: LiveQueue; live: Live | null; attempts: Recent }) {
  const n = running(q, now, live)
  const rate = rateOf(attempts)
  const none = <span class="dim">no limit</span>
  return (
    <Panel title="Limits">
      <Facts of={[
        ['Concurrency', q.concurrency ? <Usage used={n} of={q.concurrency} label="attempts running" /> : <>{none}; <a href={link('tasks', '', { queue: q.name, state: 'running' })}>{count(n)} running</a></>],
        ['Rate', q.rate !== undefined ? <Usage used={rate} of={q.rate} unit="/s" label="in the last 10 s" /> : <>{none}; {round(rate)}/s in the last 10 s</>],
        ['Burst', q.burst ? `${count(q.burst)} at once after a time without attempts` : q.rate ? <span class="dim">the attempts of one second</span> : none],
        ['Per destination', q.per_destination ? <>{count(q.per_destination)} at once to one host and port</> : none],
      ]} />
      {shared() && <p class="dim">The measured rate counts only the attempts of this server.</p>}
    </Panel>
  )
}

const round = (n: number) => Number(n.toFixed(1))

// rateOf returns the attempts of a queue that ended in a second, over the last ten
// seconds. The server keeps 100 a second of each kind, so a larger rate is not seen.
function rateOf({ list, now }: Recent): number {
  return round(list.filter((a) => now - Date.parse(a.at) < 10000).length / 10)
}
