// Icon is a small line drawing. It is decoration: the text next to it has the meaning.

const shapes: Record<string, string> = {
  now: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16m0 4v4l3 2',
  upcoming: 'M4 18V10M9 18V6M14 18v-5M19 18V8',
  tasks: 'M5 7h14M5 12h14M5 17h14',
  schedules: 'M5 6h14v13H5zM5 10h14M9 4v4M15 4v4',
  simulator: 'M5 19 10 9l4 6 5-11',
  queues: 'M5 6h10M5 12h14M5 18h7',
  dead: 'M7 7l10 10M17 7 7 17',
  destinations: 'M4 12h14M13 7l5 5-5 5',
  server: 'M5 5h14v6H5zM5 13h14v6H5zM8 8h.01M8 16h.01',
  copy: 'M9 9h10v10H9zM5 15V5h10',
  menu: 'M4 7h16M4 12h16M4 17h16',
  close: 'M6 6l12 12M18 6 6 18',
  good: 'M5 12l5 5 9-10',
  bad: 'M7 7l10 10M17 7 7 17',
  warn: 'M12 5l8 14H4zM12 10v4M12 16.5v.01',
  info: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16m0 7v5M12 8v.01',
  wait: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16m0 4v4h3',
  play: 'M8 5l11 7-11 7z',
  pause: 'M8 5v14M16 5v14',
}

export function Icon({ name }: { name: string }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={shapes[name] ?? shapes.info} />
    </svg>
  )
}
