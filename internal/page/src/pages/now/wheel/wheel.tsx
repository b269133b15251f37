import { useComputed, useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { Live } from '../../../api/openapi.gen'
import { count, plural, short } from '../../../format/number'
import { full, span } from '../../../format/time'
import { go } from '../../../state/route'
import { serverNow } from '../../../state/session'
import { frozen } from '../../../state/settings'
import { passed, radii, sector, shade, height, slotAt, slots, turned, width, type Ring, type Slot } from './model'
import { AttemptMarks } from './attempt-marks'

export interface WheelData {
  rings: Ring[]
  waiting: number
  overdue: number
  nearUntil: number // tasks due earlier are in memory
}

interface WheelProps {
  data: WheelData
  live: Live | null
}

// Wheel draws everything that waits on the five rings of GET /v1/due. Each ring turns by
// the server's clock. The slots change only when new counts arrive.
export function Wheel({ data, live }: WheelProps) {
  const svg = useRef<SVGSVGElement>(null)
  const pointed = useSignal<{ ring: number; slot: Slot } | null>(null)
  useEffect(() => turn(svg.current!, data.rings), [data])
  const find = (event: Event) => {
    const el = (event.target as Element).closest<SVGPathElement>('path[data-slot]')
    if (!el) return null
    const ring = Number(el.dataset.ring)
    return { ring, slot: slotAt(data.rings[ring]!, Number(el.dataset.slot)) }
  }
  const tip = useComputed(() => {
    const p = pointed.value
    if (!p) return ''
    const held = p.slot.held ? `, ${count(p.slot.held)} held` : ''
    return `${plural(p.slot.count, 'task')}${held}, due from ${full(p.slot.from)} until ${full(p.slot.until)}`
  })
  return (
    <div class="wheel">
      <svg
        ref={svg} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={summary(data)}
        onPointerMove={(e) => (pointed.value = find(e))} onPointerLeave={() => (pointed.value = null)}
        onClick={(e) => listSlot(find(e)?.slot)}
      >
        <defs>
          <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="hatch" width="3" height="6" /></pattern>
        </defs>
        {data.rings.map((ring, n) => <Slots key={n} ring={ring} n={n} nearUntil={data.nearUntil} />)}
        <g class="hand">
          <path d={`M360 ${360 - radii(0)[1] - 12}V${360 - radii(data.rings.length - 1)[0]}`} />
          {data.rings.map((ring, n) => <text key={n} x="352" y={360 - radii(n)[1] + 22} text-anchor="end">{span(ring.slot * slots)}</text>)}
        </g>
        <g class="middle">
          <text x="360" y="352" class="large">{short(data.waiting)}</text>
          <text x="360" y="376">{data.waiting === 1 ? 'task waits' : data.waiting === 0 ? 'nothing is waiting' : 'tasks wait'}</text>
        </g>
        {data.overdue > 0 && <text class="overdue" x="344" y="30" text-anchor="end">{count(data.overdue)} overdue</text>}
        <AttemptMarks live={live} />
      </svg>
      <p class="tip dim" aria-live="off">{tip.value || 'Point at a slot to see its number of tasks. Click the slot to list them.'}</p>
    </div>
  )
}

// Slots draws one ring. It is drawn again only when its counts changed.
function Slots({ ring, n, nearUntil }: { ring: Ring; n: number; nearUntil: number }) {
  return useMemo(() => drawSlots(ring, n, nearUntil), [ring, n, nearUntil])
}

function drawSlots(ring: Ring, n: number, nearUntil: number) {
  const most = Math.max(...ring.counts, 1)
  const [inner, outside] = radii(n)
  return (
    <>
      <circle class="track" cx="360" cy="360" r={(inner + outside) / 2} />
      <g data-turns={n}>
        {ring.counts.map((amount, i) => {
          if (amount === 0) return null
          const shape = sector(n, i)
          const near = ring.from + i * ring.slot < nearUntil
          return (
            <g key={ring.from + i * ring.slot} data-at={i}>
              <path class={near ? 'slot near' : 'slot'} d={shape} data-ring={n} data-slot={i} fill-opacity={(shade(amount, most) * (near ? 1 : 0.75)).toFixed(2)} />
              {(ring.held[i] ?? 0) > 0 && <path class="held" d={sector(n, i, Math.max(0.15, ring.held[i]! / amount))} fill="url(#hatch)" />}
            </g>
          )
        })}
      </g>
    </>
  )
}

// turn rotates the rings until it is stopped, and hides the slots that are over. The
// slow rings move once a second.
function turn(svg: SVGSVGElement, rings: Ring[]): () => void {
  let request = 0
  let second = 0
  const groups = [...svg.querySelectorAll<SVGGElement>('g[data-turns]')]
  const draw = () => {
    request = requestAnimationFrame(draw)
    if (frozen.value && second) return
    const now = serverNow()
    const whole = Math.floor(now / 1000)
    groups.forEach((group, n) => {
      const ring = rings[n]
      if (!ring || (n > 1 && whole === second)) return
      group.setAttribute('transform', `rotate(${-turned(ring, now).toFixed(3)} 360 360)`)
      const over = passed(ring, now)
      for (const slot of group.children as Iterable<SVGGElement> & HTMLCollection) {
        const i = Number((slot as SVGGElement).dataset.at)
        slot.setAttribute('visibility', i < over || i >= over + slots ? 'hidden' : 'visible')
      }
    })
    second = whole
  }
  draw()
  return () => cancelAnimationFrame(request)
}

function listSlot(slot: Slot | undefined): void {
  if (slot) go('tasks', '', { state: 'scheduled', due_after: new Date(slot.from - 1).toISOString(), due_before: new Date(slot.until).toISOString() })
}

function summary(data: WheelData): string {
  return `${plural(data.waiting, 'task')} waiting, ${count(data.overdue)} overdue. The table below has the counts of all slots.`
}

// save downloads the wheel as it stands, as an SVG with its colors.
export function save(svg: SVGSVGElement): void {
  const copy = svg.cloneNode(true) as SVGSVGElement
  const originals = svg.querySelectorAll('*')
  copy.querySelectorAll('*').forEach((el, i) => {
    const style = getComputedStyle(originals[i]!)
    for (const property of ['fill', 'stroke', 'stroke-width', 'font', 'opacity', 'text-anchor']) el.setAttribute(property, el.getAttribute(property)?.startsWith('url') ? el.getAttribute(property)! : style.getPropertyValue(property))
  })
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg')
  copy.setAttribute('width', String(width))
  copy.setAttribute('height', String(height))
  const ground = document.createElementNS('http://www.w3.org/2000/svg', 'rect')
  for (const [key, value] of Object.entries({ width, height, fill: getComputedStyle(document.documentElement).backgroundColor })) ground.setAttribute(key, String(value))
  copy.prepend(ground)
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: 'image/svg+xml' }))
  link.download = `foliot-${new Date(serverNow()).toISOString().replaceAll(':', '-')}.svg`
  link.click()
  URL.revokeObjectURL(link.href)
}
