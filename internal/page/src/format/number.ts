// Numbers as text.

const inThrees = new Intl.NumberFormat('en-US')

// count returns a whole number with groups of three digits: 1,234,567.
export function count(n: number): string {
  return inThrees.format(n)
}

// short returns a count in at most four characters and a unit: 12.3k, 4.5M.
export function short(n: number): string {
  if (n < 10000) return count(n)
  for (const [size, unit] of [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']] as const) {
    // 999,600 is 1.0M, not 1000k.
    if (n >= size * 0.9995) return `${(n / size).toFixed(n < size * 100 ? 1 : 0)}${unit}`
  }
  return count(n)
}

// bytes returns a size in binary units.
export function bytes(n: number): string {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let i = 0
  while (n >= 1024 && i < names.length - 1) {
    n /= 1024
    i++
  }
  return `${i === 0 ? n : n.toFixed(n < 10 ? 1 : 0)} ${names[i]}`
}

// plural returns a count with its noun: 1 task, 2 tasks.
export function plural(n: number, noun: string, many = noun + 's'): string {
  return `${count(n)} ${n === 1 ? noun : many}`
}
