import { allQueues, purgeable, readBacklog, readQueue, type Tagged } from '../../api/queues'
import { deleteQueue, purgeQueue, type Live, type LiveQueue, type Queue } from '../../api/openapi.gen'
import { foliot } from '../../format/command'
import { plural } from '../../format/number'
import { useData } from '../../state/data'
import { currentNamespace, liveQueues } from '../../state/current-namespace'
import { useLive } from '../../state/live'
import { go, link } from '../../state/route'
import { shared } from '../../state/session'
import { Action } from '../../parts/action'
import { Command } from '../../parts/command'
import { Empty, Loaded, Note, ProblemNote } from '../../parts/notice'
import { Head, Panel } from '../../parts/panel'
import { Time } from '../../parts/time'
import { Attempts, useAttempts } from '../../parts/attempts'
import { CountPanel, Defaults, Details } from './panels'
import { LimitBadge, LimitText, limitOf } from '../../parts/limit-reason'
import { Pause, Resume } from '../../parts/pause'
import { Limits } from './limits'
import { PausedBy } from './paused-by'
import { EditSettings } from './settings'

// QueuePage shows one queue.
export function QueuePage({ name }: { name: string }) {
  const live = useLive()
  const data = useData((signal) => readQueue(name, signal), [name], 3000)
  const attempts = useAttempts(name)
  if (data.problem?.code === 'not_found') return <Unknown name={name} done={data.reload} />
  const now = liveQueues(live).get(name)
  return (
    <>
      <Head title={name} about={<a href={link('queues')}>All queues</a>}>{data.value && <Actions of={data.value} done={data.reload} />}</Head>
      <Loaded data={data}>{({ queue }) => (
        <>
          <LimitPanel queue={queue} now={now} live={live} done={data.reload} />
          <div class="grid">
            <Limits queue={queue} now={now} live={live} attempts={attempts} />
            <CountPanel queue={queue} />
            <Details queue={queue} />
            <Defaults queue={queue} />
            <Attempts of={attempts} />
          </div>
          <Command text={foliot('queue', 'get', name)} />
        </>
      )}</Loaded>
    </>
  )
}

// LimitPanel says what limits the queue, and since when tasks wait.
function LimitPanel({ queue: q, now, live, done }: { queue: Queue; now?: LiveQueue; live: Live | null; done: () => void }) {
  const backlog = useData((signal) => readBacklog(q.name, currentNamespace(), signal), [q.name], 5000).value
  const by = limitOf(currentNamespace(), q, now, live)
  const n = backlog?.overdue ?? 0
  return (
    <Panel title="Limited by" aside={shared() && 'of this server'}>
      <p role="status"><LimitBadge by={by} /> <LimitText by={by} name={q.name} namespace={currentNamespace()} queue={q} backlog={backlog} live={live} /></p>
      {by === 'pause' && <PausedBy queue={q} />}
      {n > 0 && <p><a href={link('tasks', '', { queue: q.name, state: 'scheduled', due_before: live?.at })}>{plural(n, 'task')}</a> {n === 1 ? 'is' : 'are'} overdue. {backlog?.oldest && <>The oldest became due <Time at={backlog.oldest} />.</>}</p>}
      {['rate', 'concurrency'].includes(by) && <div class="actions"><EditSettings name={q.name} done={done} /></div>}
    </Panel>
  )
}

function Actions({ of, done }: { of: Tagged; done: () => void }) {
  const q = of.queue
  const n = purgeable(q)
  const ifMatch = q.version ? of.tag : undefined
  return (
    <>
      <EditSettings name={q.name} done={done} />
      <Pause name={q.name} paused={q.paused} done={done} />
      <Resume name={q.name} paused={q.paused} done={done} />
      <Action
        label="Purge" title={`Purge ${q.name}`} danger call={purgeQueue} type={q.name} command={foliot('queue', 'purge', q.name)}
        off={q.purging ? 'A purge is running.' : n === 0 ? 'The queue has no task that a purge cancels.' : ''}
        run={async () => (await purgeQueue({ queue: q.name, expect: n <= 1e6 ? n : undefined }), 'The server cancels the tasks now.')} done={done}
      >
        <p>This cancels <b>{plural(n, 'task')}</b>: {plural(q.counts.scheduled, 'scheduled task')}, {plural(q.counts.running, 'running task')} and {plural(q.counts.dead, 'dead task')}. A running attempt is the last one of its task. This cannot be undone.</p>
        {n <= 1e6 ? <p class="dim">If the number of tasks changes before the purge begins, nothing is cancelled.</p> : <Note tone="warn">With more than 1,000,000 tasks the server cannot check the number.</Note>}
      </Action>
      <Action
        label="Delete settings" danger call={deleteQueue} off={q.version ? '' : 'The queue has no settings.'} command={foliot('queue', 'rm', q.name)}
        run={() => drop(q.name, ifMatch)} done={done}
      ><p>This deletes the limits, the retention, the defaults and the pause of the queue. Its tasks stay, and start without limits. Its signing secrets stay too.</p></Action>
    </>
  )
}

// drop deletes the settings. A queue without tasks is unknown then.
async function drop(name: string, ifMatch: string | undefined): Promise<string> {
  const { counts: c } = await deleteQueue({ queue: name, ifMatch })
  if (c.scheduled + c.running + c.dead + c.delivered + c.cancelled + c.expired === 0) go('queues')
  return 'The settings are deleted.'
}

// Unknown helps with a queue that has neither settings nor tasks: the name may be
// misspelled, or the last task was removed.
function Unknown({ name, done }: { name: string; done: () => void }) {
  const data = useData(allQueues, [])
  const like = data.value?.queues.filter((q) => q.name.startsWith(name.slice(0, 3))).slice(0, 5) ?? []
  return (
    <>
      <Head title={name} about={<a href={link('queues')}>All queues</a>} />
      <ProblemNote problem={data.problem} />
      <Panel title="Unknown queue">
        <Empty title="No queue of this name has settings or tasks." command={foliot('queue', 'set', name, '--rate', '50')}>
          {like.length > 0 ? <>Similar names: {like.map((q, i) => <>{i > 0 && ', '}<a href={link('queues', q.name)}>{q.name}</a></>)}</> : 'It shows here when it has tasks or settings.'}
        </Empty>
        <div class="actions"><button type="button" onClick={done}>Load again</button></div>
      </Panel>
    </>
  )
}
