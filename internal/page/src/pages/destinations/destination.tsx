import { explainEgress } from '../../api/openapi.gen'
import { foliot } from '../../format/command'
import { kindOf } from '../../format/destination'
import { count, plural } from '../../format/number'
import { link } from '../../state/route'
import { Command } from '../../parts/command'
import { Loaded, Note, ProblemNote } from '../../parts/notice'
import { Facts, Head, Panel } from '../../parts/panel'
import { AttemptTables, NoAttempts } from '../../parts/attempts'
import { useData } from '../../state/data'
import { forbidden } from '../../state/session'
import { Badge } from '../../parts/badge'
import { Breaker, DeadLink, Failures, failuresTitle, LastFailure, Overdue, RetryDead } from './cells'
import { OneServer } from './destination-list'
import { useDestinations, type Destination } from './use-destinations'

// DestinationPage shows one destination.
export function DestinationPage({ name }: { name: string }) {
  const data = useDestinations()
  const d: Destination = data.all.find((other) => other.name === name) ?? { name, attempts: [], failures: 0, dead: [] }
  const queues = [...new Set([...d.attempts.map((a) => a.queue), ...d.dead.map((t) => t.queue)])].sort()
  return (
    <>
      <Head title={name} about={<a href={link('destinations')}>All destinations</a>}><RetryDead of={d} complete={data.complete} done={data.reload} /></Head>
      <OneServer node={data.node} />
      <ProblemNote problem={data.problem} />
      <div class="grid">
        <Panel title="Now">
          <Facts of={[
            ['Breaker', <Breaker of={d} />],
            ['Running', count(d.now?.running ?? 0)],
            ['Overdue', <Overdue of={d} />],
            [failuresTitle(data.missed), <Failures of={d} />],
            ['Last error', <LastFailure of={d} />],
            ['Dead', <DeadLink of={d} complete={data.complete} />],
          ]} />
        </Panel>
        <Panel title="Tasks by queue">
          <p><a href={link('tasks', '', { destination: name, state: 'scheduled' })}>Its scheduled tasks</a></p>
          <p class="dim">Queues with recent attempts or dead tasks of this destination:{queues.length === 0 && ' none'}</p>
          <ul class="plain">{queues.map((q) => <li key={q}><a href={link('queues', q)}>{q}</a> · <a href={link('tasks', '', { queue: q, destination: name, state: 'scheduled' })}>scheduled tasks</a></li>)}</ul>
        </Panel>
        {!kindOf(name) && !forbidden(explainEgress) && <Egress name={name} />}
        <Panel title="Recent attempts" aside={d.attempts.length > 0 && plural(d.attempts.length, 'attempt')} wide>
          {d.attempts.length === 0
            ? <NoAttempts />
            : <AttemptTables of={d.attempts} place="queue" />}
        </Panel>
      </div>
    </>
  )
}

// Egress says whether tasks may call the addresses of a destination. Only an operator
// may see that.
function Egress({ name }: { name: string }) {
  const url = (name.endsWith(':443') ? 'https://' : 'http://') + name + '/'
  const data = useData((signal) => explainEgress({ url }, undefined, signal), [url])
  return (
    <Panel title="May tasks call this destination?" wide>
      <Loaded data={data}>{({ open: allowed, problem, addresses }) => (
        <>
          <p><Badge tone={allowed ? 'good' : 'bad'}>{allowed ? 'yes' : 'no'}</Badge> {problem}</p>
          {addresses.length > 0 && <Facts of={addresses.map((a) => [a.address, <>{a.open ? 'allowed' : 'denied'}: {a.reason}</>])} />}
          {!allowed && <Note tone="warn">Tasks for a denied address die at once.</Note>}
        </>
      )}</Loaded>
      <Command text={foliot('doctor', 'egress', url)} />
    </Panel>
  )
}
