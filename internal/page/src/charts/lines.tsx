import { useEffect, useRef } from 'preact/hooks'
import type uPlot from 'uplot'
import { parts } from '../format/time'
import { theme, zone } from '../state/settings'

export interface Line {
  label: string
  color: string // the name of a CSS variable
  dash?: number[] // lines differ by their dashes too, not by the color alone
  values: (number | null)[]
}

// Lines draws values over time. The library is loaded when a chart is shown.
export function Lines({ times, lines, unit }: { times: number[]; lines: Line[]; unit: string }) {
  const box = useRef<HTMLDivElement>(null)
  const chart = useRef<uPlot | null>(null)
  const data = [times, ...lines.map((l) => l.values)] as uPlot.AlignedData
  const latest = useRef(data)
  latest.current = data
  useEffect(() => {
    let gone = false
    const watch = new ResizeObserver(([entry]) => chart.current?.setSize({ width: Math.max(200, entry!.contentRect.width), height: 190 }))
    void import('uplot').then(({ default: Plot }) => {
      if (gone || !box.current) return
      chart.current = new Plot(options(lines, unit, box.current.clientWidth), latest.current, box.current)
      watch.observe(box.current)
    })
    return () => {
      gone = true
      watch.disconnect()
      chart.current?.destroy()
      chart.current = null
    }
  }, [theme.value, zone.value, lines.map((l) => l.label).join()])
  useEffect(() => chart.current?.setData(data), [times])
  return <div class="chart" ref={box} aria-hidden="true" />
}

function options(lines: Line[], unit: string, width: number): uPlot.Options {
  const style = getComputedStyle(document.documentElement)
  const color = (name: string) => style.getPropertyValue(name).trim()
  const axis = { stroke: color('--dim'), grid: { stroke: color('--line'), width: 1 }, ticks: { show: false } }
  return {
    width: Math.max(200, width), height: 190, cursor: { y: false },
    scales: { x: { time: true }, y: { range: (_u, _min, max) => [0, Math.max(1, max * 1.1)] } },
    legend: { live: false },
    axes: [{ ...axis, values: (_u, at) => at.map((t) => parts(t * 1000).clock.slice(0, at.length > 1 && at[1]! - at[0]! < 60 ? 8 : 5)) }, { ...axis, size: 46 }],
    series: [{}, ...lines.map((l) => ({ label: l.label, stroke: color(l.color), width: 1.5, dash: l.dash, points: { show: false }, value: (_u: uPlot, v: number | null) => (v === null ? '—' : v.toFixed(1) + unit) }))],
  }
}
