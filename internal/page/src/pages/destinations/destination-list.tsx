import { useSignal } from '@preact/signals'
import { foliot } from '../../format/command'
import { count } from '../../format/number'
import { link, route, setQuery } from '../../state/route'
import { shared } from '../../state/session'
import { Command } from '../../parts/command'
import { most } from '../../parts/dead-tasks'
import { Host } from '../../parts/host'
import { Empty, Note, ProblemNote } from '../../parts/notice'
import { Head, Panel } from '../../parts/panel'
import { Table, type Column } from '../../parts/table'
import { Breaker, DeadLink, Failures, failuresTitle, LastFailure, Overdue, RetryDead } from './cells'
import { useDestinations, type Destination } from './use-destinations'

const step = 100

export function DestinationList() {
  const data = useDestinations()
  const shown = useSignal(step)
  const search = route.value.query.get('name') ?? ''
  const rows = data.all.filter((d) => d.name.includes(search))
  const columns: Column<Destination>[] = [
    { title: 'Destination', cell: (d) => <Host name={d.name} /> },
    { title: 'Breaker', cell: (d) => <Breaker of={d} /> },
    { title: 'Running', number: true, cell: (d) => d.now?.running || <span class="dim none">0</span> },
    { title: 'Overdue', cell: (d) => <Overdue of={d} /> },
    { title: failuresTitle(data.missed), number: true, cell: (d) => <Failures of={d} /> },
    { title: 'Last error', cell: (d) => <LastFailure of={d} /> },
    { title: 'Dead', number: true, cell: (d) => <DeadLink of={d} complete={data.complete} /> },
    { title: 'Actions', cell: (d) => <RetryDead of={d} complete={data.complete} done={data.reload} /> },
  ]
  return (
    <>
      <Head title="Destinations" about="A destination is the host and port that receives requests. If it fails ten times in a row, its breaker opens: its tasks wait, and use no attempts." />
      <OneServer node={data.node} />
      {!data.complete && <Note>The page examines {count(most)} dead tasks here. There are more, so the numbers below Dead may be larger.</Note>}
      <form class="filters" role="search" aria-label="Filter" onSubmit={(e) => e.preventDefault()}>
        <label class="field grow"><span>Host and port contain</span>
          <input data-search="" type="search" spellcheck={false} autocomplete="off" value={search} onInput={(e) => setQuery({ name: e.currentTarget.value.trim() })} />
        </label>
      </form>
      <Panel title="Destinations with work, recent attempts or dead tasks">
        <ProblemNote problem={data.problem} />
        {!data.loaded && !data.problem ? <p class="loading" role="status">Loading…</p> : (
          <Table
            caption="Destinations" rows={rows.slice(0, shown.value)} columns={columns} id={(d) => d.name} href={(d) => link('destinations', d.name)}
            empty={search
              ? <Empty title="No destination has this in its name." />
              : <Empty title="No destination had work recently." command={foliot('add', 'http://127.0.0.1:9000/hello', '--in', '5s')}>A destination shows here while a task for it runs, waits or is dead, and after a recent attempt.</Empty>}
          />
        )}
        {rows.length > shown.value && <div class="actions"><button type="button" onClick={() => (shown.value += step)}>Show {Math.min(step, rows.length - shown.value)} more of {count(rows.length)}</button></div>}
        <Command text={foliot('top', '--once')} />
      </Panel>
    </>
  )
}

// OneServer says whose breakers and attempts the page shows, if several servers may
// share the store.
export function OneServer({ node }: { node: string }) {
  if (!shared()) return null
  return <Note>Breakers, running, overdue and attempts are those of this server{node && <> (<b>{node}</b>)</>}. Other servers that share the store have their own. Dead tasks are those of all servers.</Note>
}
