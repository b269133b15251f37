import type { ClockChange } from '../../api/openapi.gen'
import { plural } from '../../format/number'
import { levelOf, monthsOf, mostCounted, number, spansOf, type Month } from './calendar'

const cell = 13
const pitch = 16
const top = 17

// Year shows how many instants each day has, as a calendar whose brightness is the
// number. The same numbers are in the table below.
export function Year({ first, counts, changes, zone }: { first: string; counts: number[]; changes: ClockChange[]; zone: string }) {
  const months = monthsOf(first, counts)
  const most = Math.max(...counts)
  const clockChanges = new Map(changes.map((c) => [c.local.slice(0, 10), c.words]))
  const days = counts.filter((n) => n > 0).length
  const sum = counts.reduce((a, b) => a + b, 0)
  const capped = most >= mostCounted
  const total = `${capped ? 'At least ' : ''}${plural(sum, 'instant')} on ${plural(days, 'day')}`
  return (
    <div class="year">
      <p>{total} from {first} until {months.at(-1)?.days.at(-1)?.date}, {zone}.</p>
      <div class="months">{months.map((m) => <MonthView key={m.key} month={m} most={most} clockChanges={clockChanges} today={first} />)}</div>
      <p class="legend dim" aria-hidden="true">
        <LegendKey level={0} /> none
        {most > 1 && <><LegendKey level={1} /> 1</>}
        {most > 3 && <><LegendKey level={2} /><LegendKey level={3} /></>}
        {most > 0 && <><LegendKey level={levelOf(most, most)} /> {number(most)} a day</>}
        {clockChanges.size > 0 && <><LegendKey level={0} mark="clock-change" /> the clocks change</>}
        <LegendKey level={0} mark="today" /> today
        <span class="columns">columns: Monday to Sunday</span>
      </p>
      <details>
        <summary>The same as a table</summary>
        <div class="table" tabIndex={0} role="region" aria-label="Instants of each month">
          <table>
            <caption class="sr">Instants of each month</caption>
            <thead><tr><th scope="col">Month</th><th scope="col" class="number">Days</th><th scope="col" class="number">Instants</th><th scope="col">Day of the month: instants</th></tr></thead>
            <tbody>{months.map((m) => <MonthRow key={m.key} month={m} />)}</tbody>
          </table>
        </div>
      </details>
    </div>
  )
}

function MonthRow({ month }: { month: Month }) {
  const sum = month.days.reduce((a, d) => a + d.count, 0)
  return (
    <tr>
      <td data-title="Month">{month.title}</td>
      <td data-title="Days" class="number">{month.days.filter((d) => d.count > 0).length}</td>
      <td data-title="Instants" class="number">{sum}{month.days.some((d) => d.count >= mostCounted) ? ' or more' : ''}</td>
      <td data-title="Instants of days">{spansOf(month) || '—'}</td>
    </tr>
  )
}

function MonthView({ month, most, clockChanges, today }: { month: Month; most: number; clockChanges: Map<string, string>; today: string }) {
  const days = month.days.filter((d) => d.count > 0).length
  return (
    <svg class="month" viewBox={`0 0 ${7 * pitch} ${top + 6 * pitch}`} role="img" aria-label={`${month.title}: instants on ${plural(days, 'day')}`}>
      <text x="0" y="10">{month.title}</text>
      {month.days.map((d) => {
        const words = clockChanges.get(d.date)
        return (
          <g key={d.date}>
            <title>{`${d.date}: ${number(d.count)} ${d.count === 1 ? 'instant' : 'instants'}${words ? '\n' + words : ''}`}</title>
            <rect class={'l' + levelOf(d.count, most) + (words ? ' clock-change' : d.date === today ? ' today' : '')} x={d.column * pitch + 1} y={top + d.row * pitch} width={cell} height={cell} rx="2.5" />
          </g>
        )
      })}
    </svg>
  )
}

function LegendKey({ level, mark = '' }: { level: number; mark?: string }) {
  return <svg class="key" viewBox="0 0 15 15"><rect class={`l${level} ${mark}`} x="1" y="1" width={cell} height={cell} rx="2.5" /></svg>
}
