// The geometry of the wheel, without clock and without drawing. A ring is one turn
// of equal slots. The due time of a task is an angle from twelve o'clock, clockwise:
// so all slots move towards twelve, and a task is due when it arrives there.

export interface Ring {
  slot: number // the length of a slot in milliseconds
  from: number // the beginning of the first slot, in milliseconds since 1970
  counts: number[]
  held: number[] // those of counts that a pause, a purge or a suspension holds
}

// slots is the number of slots in one turn.
export const slots = 64

const center = 360
const outer = 300
const pitch = 46
const thickness = 34

export const width = 2 * center
export const height = 680

// radii returns the inner and the outer radius of ring n. The outermost ring is the
// nearest future.
export function radii(n: number): [number, number] {
  const r = outer - n * pitch
  return [r - thickness, r]
}

// turned returns how far a ring has turned since its first slot was at twelve
// o'clock, in degrees.
export function turned(ring: Ring, now: number): number {
  return (((now - ring.from) / (ring.slot * slots)) % 1) * 360
}

// passed returns the number of slots that are over.
export function passed(ring: Ring, now: number): number {
  return Math.max(0, Math.floor((now - ring.from) / ring.slot))
}

// place returns a point at an angle in turns from twelve o'clock.
export function place(radius: number, turns: number): [number, number] {
  const a = turns * 2 * Math.PI
  return [center + radius * Math.sin(a), center - radius * Math.cos(a)]
}

const gap = 0.16 // of a slot, between two slots

// sector returns the outline of slot i of ring n, before the ring turns. With a
// share it is only this share of the slot, from its inner side.
export function sector(n: number, i: number, share = 1): string {
  const [inner, edge] = radii(n)
  const outside = inner + (edge - inner) * share
  const a = (i + gap / 2) / slots
  const b = (i + 1 - gap / 2) / slots
  const p = (radius: number, turns: number) => place(radius, turns).map((v) => v.toFixed(2)).join(' ')
  return `M${p(outside, a)}A${outside} ${outside} 0 0 1 ${p(outside, b)}L${p(inner, b)}A${inner} ${inner} 0 0 0 ${p(inner, a)}Z`
}

// shade returns the brightness of a slot, from 0 to 1. It grows with the logarithm
// of the count, so that one task is visible next to a million.
export function shade(count: number, most: number): number {
  return count === 0 ? 0 : 0.22 + 0.78 * (Math.log1p(count) / Math.log1p(Math.max(1, most)))
}

export interface Slot {
  from: number
  until: number
  count: number
  held: number
}

// slotAt returns slot i of a ring.
export function slotAt(ring: Ring, i: number): Slot {
  const from = ring.from + i * ring.slot
  return { from, until: from + ring.slot, count: ring.counts[i] ?? 0, held: ring.held[i] ?? 0 }
}

// total returns the number of tasks in one turn of a ring.
export function total(ring: Ring): number {
  return ring.counts.slice(0, slots).reduce((sum, n) => sum + n, 0)
}
