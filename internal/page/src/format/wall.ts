import { digits } from './time'

// Times on the clocks of a zone, for inputs and calendars.

// wall returns a time on the clocks of a zone: 2026-11-24T09:30:00. Without a zone
// it is that of the browser, and if the browser does not know the zone, UTC.
export function wall(at: number, zone: string | undefined): string {
  const p = digits(at, zone)
  return `${p.year!.padStart(4, '0')}-${p.month}-${p.day}T${p.hour}:${p.minute}:${p.second}`
}

// utcOf returns the time at which the clocks of a zone show text, or NaN. The
// second step is right if the clocks change between the first guess and the time.
export function utcOf(text: string, zone: string | undefined): number {
  const shown = Date.parse(text + 'Z')
  if (Number.isNaN(shown)) return NaN
  let at = shown
  for (let i = 0; i < 2; i++) at += shown - Date.parse(wall(at, zone) + 'Z')
  return at
}

// dayAfter returns a date some days later: 2026-11-24 and 7 is 2026-12-01.
export function dayAfter(date: string, days: number): string {
  return new Date(Date.parse(date + 'T00:00:00Z') + days * 864e5).toISOString().slice(0, 10)
}

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']

// weekday returns the day of the week of a date: 0 is Sunday.
export function weekday(date: string): number {
  return new Date(date + 'T00:00:00Z').getUTCDay()
}

// localText returns a local time of the API with its day of the week:
// Mon 2026-11-30 09:00:00 +01:00.
export function localText(local: string): string {
  const m = /^(\d{4,}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)$/.exec(local)
  if (!m) return local
  const millis = Number(m[3] ?? 0) ? m[3] : ''
  return `${weekdays[weekday(m[1]!)]} ${m[1]} ${m[2]}${millis} ${m[4] === 'Z' ? 'UTC' : m[4]}`
}
