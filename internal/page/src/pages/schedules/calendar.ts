import { dayAfter, weekday } from '../../format/wall'

// A year of days as months of a calendar.

export interface Day {
  date: string
  count: number
  column: number // 0 is Monday
  row: number
}

export interface Month {
  key: string // 2026-11
  title: string // Nov 2026
  days: Day[]
}

const names = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

// mostCounted is the largest number of instants of one day that the server counts.
export const mostCounted = 100

// monthsOf returns the months of the days that begin with first.
export function monthsOf(first: string, counts: number[]): Month[] {
  const out: Month[] = []
  counts.forEach((count, i) => {
    const date = dayAfter(first, i)
    const key = date.slice(0, 7)
    if (out.at(-1)?.key !== key) out.push({ key, title: `${names[Number(date.slice(5, 7)) - 1]} ${date.slice(0, 4)}`, days: [] })
    const before = (weekday(key + '-01') + 6) % 7
    const place = before + Number(date.slice(8)) - 1
    out.at(-1)!.days.push({ date, count, column: place % 7, row: Math.floor(place / 7) })
  })
  return out
}

export function number(count: number): string {
  return count >= mostCounted ? `${mostCounted} or more` : String(count)
}

// spansOf returns the days of a month with instants as text: "2: 1; 3–6: 24 each".
export function spansOf(month: Month): string {
  const out: string[] = []
  for (let i = 0; i < month.days.length; ) {
    const { count, date } = month.days[i]!
    let j = i
    while (j + 1 < month.days.length && month.days[j + 1]!.count === count) j++
    const day = (d: string) => String(Number(d.slice(8)))
    if (count > 0) out.push(i === j ? `${day(date)}: ${number(count)}` : `${day(date)}–${day(month.days[j]!.date)}: ${number(count)} each`)
    i = j + 1
  }
  return out.join('; ')
}

// levelOf returns the brightness of a number of instants, 0 to 4.
export function levelOf(count: number, most: number): number {
  if (count === 0) return 0
  if (most <= 1) return 3 // one in a day is not much
  return 1 + Math.round((3 * Math.log(count)) / Math.log(most))
}
