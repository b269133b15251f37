import type { ComponentChildren } from 'preact'
import { getSchedule, previewRule, type Instant, type Schedule, type Task } from '../../api/openapi.gen'
import { foliot } from '../../format/command'
import { bytes, count, plural } from '../../format/number'
import { ruleOf, ruleTextOf, zoneOfRule } from '../../format/rule'
import { span } from '../../format/time'
import { wall } from '../../format/wall'
import { Badge, State, stateReason } from '../../parts/badge'
import { Command } from '../../parts/command'
import { Masked } from '../../parts/masked'
import { Empty, Loaded, Note, ProblemNote } from '../../parts/notice'
import { authors } from '../../parts/authors'
import { Facts, Head, Panel } from '../../parts/panel'
import { errorText } from '../../parts/reply'
import { Table, type Column } from '../../parts/table'
import { Time } from '../../parts/time'
import { useData } from '../../state/data'
import { useLatest } from '../../state/latest'
import { link } from '../../state/route'
import { serverNow } from '../../state/session'
import { ScheduleActions } from './actions'
import { ClockChanges, Instants } from './instants'
import { lastTasks } from './last-tasks'
import { missedWords, overlapWords, reasonToSkip, sentence } from './rule-text'
import { Year } from './year'

// ScheduleDetail shows one schedule.
export function ScheduleDetail({ name }: { name: string }) {
  const data = useData((signal) => getSchedule({ name }, undefined, signal), [name], 5000)
  const s = data.value
  return (
    <>
      <Head title={name} about={s && <>{sentence(s.words, s)} {s.problem ? <Badge tone="bad">problem</Badge> : <State of={s.held ? 'held' : s.state} />}</>}>
        {s && <ScheduleActions of={s} done={data.reload} />}
      </Head>
      <Loaded data={data}>{(s) => <ScheduleParts of={s} />}</Loaded>
      <Command text={foliot('cron', 'get', name)} />
    </>
  )
}

function ScheduleParts({ of: s }: { of: Schedule }) {
  const zone = zoneOfRule(s)
  const rule = useLatest(async (signal) => {
    const now = serverNow()
    const reply = await previewRule({ limit: 8, from: new Date(now).toISOString(), days: 366 }, ruleOf(ruleTextOf(s)), signal)
    return { ...reply, first: wall(now, zone).slice(0, 10) }
  }, [s.id, s.version, s.next_at])
  const { value } = rule
  return (
    <>
      {s.problem && <ProblemNote problem={{ type: 'about:blank', title: 'The server cannot use this rule now.', status: 0, code: 'internal', detail: s.problem }} />}
      {s.paused && <Note tone="warn">Paused{s.paused_at && <> since <Time at={s.paused_at} zone={zone} mode="full" /></>}: its instants create no tasks.</Note>}
      {s.held && <Note tone="warn">{s.held === 'suspended' ? 'The namespace is suspended: the next instant creates no task.' : <>The queue <a href={link('queues', s.task.queue ?? 'default')}>{s.task.queue ?? 'default'}</a> is {s.held === 'pause' ? 'paused' : 'being purged'}: the next instant creates a task, which waits for the end of the {s.held}.</>}</Note>}
      {s.state === 'ended' && <Note>Ended: no instant is left.</Note>}
      {s.waiting_at && <Note>The instant <Time at={s.waiting_at} zone={zone} /> waits for the end of an unfinished task.</Note>}
      <div class="grid">
        <div class="stack">
          <Panel title="Next instants">
            <ProblemNote problem={rule.problem} />
            {value && <Instants caption="Table of the next instants" of={remaining(s, value.instants)} zone={zone} />}
            {s.jitter && <p class="dim">Each task is due up to {s.jitter} after its instant.</p>}
          </Panel>
          {s.cron && value && <ClockChanges of={value.clock_changes} zone={zone} />}
        </div>
        <div class="stack">
          <Panel title="Rule"><Facts of={ruleFacts(s, zone)} /></Panel>
          <Panel title="Request of each task"><RequestFacts of={s} /></Panel>
        </div>
        <Panel title="Last tasks" wide aside={<a href={link('tasks', '', { schedule: s.name })}>All tasks of this schedule</a>}><LastTasks of={s} /></Panel>
        {value?.days && <Panel title="Next 12 months" wide><Year first={value.first} counts={value.days} changes={value.clock_changes} zone={zone} /></Panel>}
      </div>
    </>
  )
}

// remaining returns the instants until the schedule reaches its max runs.
function remaining(s: Schedule, instants: Instant[]): Instant[] {
  return s.max_runs ? instants.slice(0, Math.max(0, s.max_runs - s.runs)) : instants
}

function ruleFacts(s: Schedule, zone: string): [string, ComponentChildren][] {
  const time = (at?: string) => at && <Time at={at} zone={zone} mode="full" />
  const facts: [string, ComponentChildren][] = s.cron
    ? [['Expression', <code>{s.cron}</code>], ['Time zone', zone], ['Clock changes', `a missing time creates ${s.dst_gap === 'skip' ? 'no task' : 'a task when the gap ends'}, a repeated time ${s.dst_overlap === 'both' ? 'two tasks' : 'one task, the first time'}`]]
    : [['Interval', <code>{s.every ?? ''}</code>], ['Interval starts', time(s.start ?? s.anchor)]]
  if (s.start) facts.push(['Start', time(s.start)])
  if (s.end) facts.push(['End', time(s.end)])
  if (s.jitter) facts.push(['Jitter', s.jitter])
  facts.push(
    ['Missed instants', missedWords(s)],
    ['While a task is unfinished', overlapWords[s.overlap]],
    ['Instants with a task', s.max_runs ? `${count(s.runs)} of ${count(s.max_runs)}` : count(s.runs)],
    ['Last instant', s.last_at && <Time at={s.last_at} zone={zone} />],
    ['Last skipped', s.last_skipped && <>{s.last_skipped.from !== s.last_skipped.until && <><Time at={s.last_skipped.from} zone={zone} mode="full" /> until </>}<Time at={s.last_skipped.until} zone={zone} mode="full" />: {reasonToSkip(s.last_skipped)}</>],
    ['Created', <Time at={s.created_at} zone={zone} />],
    ...authors(s),
  )
  return facts
}

const shown = 10

// LastTasks shows the last tasks. It reads them again with each reading of the schedule.
function LastTasks({ of: s }: { of: Schedule }) {
  const zone = zoneOfRule(s)
  const { value, problem } = useLatest((signal) => lastTasks(s, shown, signal), [s])
  const columns: Column<Task>[] = [
    { title: 'Task', cell: (t) => t.name },
    { title: 'Instant', cell: (t) => <span>{!t.instant && 'triggered '}<Time at={t.instant ?? t.created_at} zone={zone} /></span> },
    { title: 'State', cell: (t) => <span><State of={t.state} reason={stateReason(t)} /></span> },
    { title: 'Attempts', number: true, cell: (t) => t.attempts.at(-1)?.number ?? '' },
    { title: 'Last reply', cell: (t) => reply(t) },
    { title: 'Late', number: true, cell: (t) => <span class="nowrap">{t.attempts.length > 0 && span(t.attempts.at(-1)!.late_ms)}</span> },
    { title: 'Next attempt', cell: (t) => <span><Time at={t.next_at} zone={zone} /></span> },
  ]
  return (
    <>
      <ProblemNote problem={problem} />
      {value && <Table caption="Table of the last tasks" rows={[...value].reverse()} columns={columns} id={(t) => t.id} href={(t) => link('task', t.name)} empty={<Empty title="The schedule has no tasks yet." command={foliot('cron', 'trigger', s.name)}>Wait for its next instant, or create one now. Finished tasks are kept only for the retention of the queue.</Empty>} />}
    </>
  )
}

function reply(t: Task): ComponentChildren {
  const a = t.attempts.at(-1)
  if (!a) return ''
  return <span class={a.status < 300 && !a.error ? 'good' : 'bad'}>{a.status ? `status ${a.status}` : errorText(a)}</span>
}

// RequestFacts shows the request. Headers and body may be secret, so they are hidden
// until the user asks for them.
function RequestFacts({ of: s }: { of: Schedule }) {
  const { http, work, retry = {}, ...t } = s.task
  const labels = Object.entries(t.labels ?? {})
  return (
    <>
      <Facts of={[
        work ? ['Kind', <code>{work.kind}</code>] : ['Request', <span class="mono">{http?.method ?? 'POST'} {http?.url}</span>],
        ['Queue', <a href={link('queues', t.queue ?? 'default')}>{t.queue ?? 'default'}</a>],
        ['Priority', t.priority],
        ['Timeout', t.timeout],
        ['Expire after', t.expire_after ?? 'never'],
        ['Max attempts', retry.max_attempts ? count(retry.max_attempts) : 'no limit'],
        ['Min backoff', retry.min_backoff],
        ['Max backoff', retry.max_backoff],
        ['Max age', retry.max_age === '0s' ? 'no limit' : retry.max_age],
        ['On dead', t.on_dead ? <span class="mono">POST {t.on_dead}</span> : 'no call'],
        ['Labels', labels.length > 0 ? labels.map(([k, v]) => <code key={k}>{k}={v} </code>) : undefined],
        [work ? 'Arguments' : 'Headers and body', <Payload of={s} />],
      ]} />
    </>
  )
}

function Payload({ of: { task: { http, work }, body_size: size, hidden } }: { of: Schedule }) {
  if (hidden) return <span class="dim">This namespace hides them from tokens of scope read.</span>
  const headers = Object.entries(http?.headers ?? {})
  const value = work ? work.args : http?.body
  const body = !work && typeof value === 'string' ? value : value !== undefined ? JSON.stringify(value, null, 2) : http?.body_base64
  if (headers.length === 0 && body === undefined) return <span class="dim">none</span>
  return (
    <Masked label={[headers.length > 0 && plural(headers.length, 'header'), body !== undefined && `the ${work ? 'arguments' : 'body'}${size ? ` (${bytes(size)})` : ''}`].filter(Boolean).join(' and ')}>
      <div class="part">
        {headers.length > 0 && <pre tabIndex={0}>{headers.map(([k, v]) => `${k}: ${v}`).join('\n')}</pre>}
        {body !== undefined && <pre tabIndex={0}>{body}</pre>}
      </div>
    </Masked>
  )
}
