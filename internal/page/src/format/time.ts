import { zone } from '../state/settings'

// Times as text. All of them read the zone that the user selected, so a change
// of it changes every time on the page.

const formats = new Map<string | undefined, Intl.DateTimeFormat>()

// digits returns the parts of a time in a zone, or in UTC if the browser does not know it.
export function digits(at: number, timeZone: string | undefined): Record<string, string> {
  const make = (timeZone: string | undefined) => new Intl.DateTimeFormat('en-GB', {
    timeZone,
    year: 'numeric', month: '2-digit', day: '2-digit',
    hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3,
    hourCycle: 'h23', timeZoneName: 'short',
  })
  let f = formats.get(timeZone)
  if (!f) {
    try {
      f = make(timeZone)
    } catch {
      f = make('UTC')
    }
    formats.set(timeZone, f)
  }
  return Object.fromEntries(f.formatToParts(at).map(({ type, value }) => [type, value]))
}

// zoneOf returns the time zone for a time: own is that of its schedule.
export function zoneOf(own?: string): string | undefined {
  if (zone.value === 'utc') return 'UTC'
  return zone.value === 'schedule' ? own : undefined
}

export interface Parts {
  date: string // 2026-11-24
  clock: string // 09:30:00
  millis: string // .250, or '' for a whole second
  zone: string // CET
}

// parts returns a time in the zone that the user selected.
export function parts(at: number | string, own?: string): Parts {
  const when = typeof at === 'number' ? at : Date.parse(at)
  const p = digits(when, zoneOf(own))
  const millis = p.fractionalSecond === '000' ? '' : '.' + p.fractionalSecond
  return { date: `${p.year}-${p.month}-${p.day}`, clock: `${p.hour}:${p.minute}:${p.second}`, millis, zone: p.timeZoneName ?? '' }
}

// full returns a time with its date and zone.
export function full(at: number | string, own?: string): string {
  const p = parts(at, own)
  return `${p.date} ${p.clock}${p.millis} ${p.zone}`
}

// moment returns a time on the axis of a chart: a clock, with the date if the chart covers
// more than half a day.
export function moment(at: number | string, length: number): string {
  const p = parts(at)
  return (length > 432e5 ? p.date.slice(5) + ' ' : '') + p.clock.slice(0, 5)
}

// zoneName returns the name of the zone of times without a schedule.
export function zoneName(): string {
  return zoneOf() ?? Intl.DateTimeFormat().resolvedOptions().timeZone
}

const units: [string, number][] = [['y', 31556952e3], ['d', 864e5], ['h', 36e5], ['min', 6e4], ['s', 1e3], ['ms', 1]]

// span returns a duration in at most two units: 4 min 22 s.
export function span(ms: number): string {
  let rest = Math.abs(Math.round(ms))
  if (rest < 1000) return `${rest} ms`
  if (rest < 60000) return `${(rest / 1000).toFixed(rest < 10000 ? 1 : 0)} s`
  const large = units.findIndex(([, size]) => rest >= size)
  const unit = units[large + 1]![1] // the smaller of the two units
  rest = Math.round(rest / unit) * unit
  const out: string[] = []
  for (const [name, size] of units) {
    if (rest >= size && out.length < 2) {
      out.push(`${Math.floor(rest / size)} ${name}`)
      rest %= size
    } else if (out.length > 0) break
  }
  return out.join(' ')
}

// relative returns a time as its distance from now: in 3 s, 5 min ago.
export function relative(at: number | string, now: number): string {
  const distance = (typeof at === 'number' ? at : Date.parse(at)) - now
  if (Math.abs(distance) < 1000) return 'now'
  return distance > 0 ? `in ${span(distance)}` : `${span(distance)} ago`
}

const pieces: Record<string, number> = { d: 864e5, h: 36e5, m: 6e4, s: 1e3, ms: 1, us: 1e-3, µs: 1e-3, ns: 1e-6 }

// millis returns a duration of the API, such as 1h30m, in milliseconds.
export function millis(duration: string): number {
  let sum = 0
  for (const [, n, unit] of duration.matchAll(/([0-9.]+)(ms|us|µs|ns|d|h|m|s)/g)) sum += Number(n) * pieces[unit!]!
  return duration.startsWith('-') ? -sum : sum
}

// wrongDuration returns the error of a duration that a user typed, or undefined.
export function wrongDuration(text: string): string | undefined {
  return /^(0|[\d.]+(d|ns|us|µs|ms|s|m|h)([\d.]+(ns|us|µs|ms|s|m|h))*)$/.test(text.trim()) ? undefined : 'must be a duration, such as 90s, 1h30m or 3d'
}
