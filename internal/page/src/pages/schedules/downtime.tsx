import type { Signal } from '@preact/signals'
import type { Absence, Problem, SkippedInstants } from '../../api/openapi.gen'
import { plural } from '../../format/number'
import { TimeField } from '../../parts/time-field'
import { Panel } from '../../parts/panel'
import { Table, type Column } from '../../parts/table'
import { Time } from '../../parts/time'
import { serverNow } from '../../state/session'
import { Instants } from './instants'
import { reasonToSkip } from './rule-text'

const hour = 36e5
const spans: [string, number][] = [['10 minutes', hour / 6], ['2 hours', 2 * hour], ['3 days', 72 * hour], ['2 weeks', 336 * hour]]

interface DowntimeProps {
  downtime: { from: Signal<string>; until: Signal<string> }
  zone: string
  effect?: Absence
  problem: Problem | null
}

// DowntimePanel shows which missed instants create a task after a downtime. The API calls
// it an absence.
export function DowntimePanel({ downtime, zone, effect, problem }: DowntimeProps) {
  const set = (length: number) => {
    const until = Math.floor(serverNow() / 1000) * 1000
    downtime.from.value = text(until - length)
    downtime.until.value = text(until)
  }
  const error = (field: string) => (problem?.field === field ? problem.detail : undefined)
  return (
    <Panel title="After downtime">
      <div class="form">
        <TimeField label="From" value={downtime.from} zone={zone} error={error('absent_from')} />
        <TimeField label="Until" value={downtime.until} zone={zone} error={error('absent_until')} />
      </div>
      <div class="examples" role="group" aria-label="Length of the downtime until now">
        <span class="dim">the last</span>
        {spans.map(([title, length]) => <button key={title} type="button" onClick={() => set(length)}>{title}</button>)}
        {(downtime.from.value || downtime.until.value) && <button type="button" class="quiet" onClick={() => ((downtime.from.value = ''), (downtime.until.value = ''))}>Clear</button>}
      </div>
      {effect ? <DowntimeEffect of={effect} zone={zone} /> : <p class="dim">Enter when the server or its store was down. Then this panel shows which missed instants create a task.</p>}
    </Panel>
  )
}

function text(at: number): string {
  return new Date(at).toISOString().replace('.000Z', 'Z')
}

function DowntimeEffect({ of, zone }: { of: Absence; zone: string }) {
  const columns: Column<SkippedInstants>[] = [
    { title: 'First', cell: (s) => <Time at={s.from} zone={zone} mode="full" /> },
    { title: 'Last', cell: (s) => <Time at={s.until} zone={zone} mode="full" /> },
    { title: 'Reason', cell: reasonToSkip },
  ]
  const nothing = of.fired === 0 && of.skipped.length === 0
  return (
    <>
      <p role="status">{nothing
        ? 'The rule has no instant in this time, so none is missed.'
        : of.fired === 0 ? 'No missed instant creates a task: all are skipped.'
        : <><b>{plural(of.fired, 'missed instant')}</b> {of.fired === 1 ? 'creates' : 'create'} a task when the server is back{of.skipped.length ? '; the others are skipped.' : ', and none is skipped.'}</>}</p>
      {of.latest.length > 0 && <>
        <h3>{of.latest.length < of.fired ? `The latest ${of.latest.length} that create a task` : 'These create a task'}</h3>
        <Instants caption="Missed instants that create a task" of={of.latest} zone={zone} />
      </>}
      {of.skipped.length > 0 && <>
        <h3>Skipped</h3>
        <Table caption="Skipped instants" rows={of.skipped} columns={columns} id={(s) => s.from + s.why} keys={false} />
      </>}
    </>
  )
}
