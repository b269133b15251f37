// Lines of names and values, as forms have them for headers and labels.

type Between = ':' | '='

// filled returns the lines of a text that are not empty.
export function filled(text: string): string[] {
  return text.split('\n').map((l) => l.trim()).filter(Boolean)
}

// pairs returns the values by their names. The record has no prototype, so a header may
// have the name __proto__.
export function pairs(text: string, between: Between): Record<string, string> {
  const out: Record<string, string> = Object.create(null)
  for (const line of filled(text)) {
    const at = line.indexOf(between)
    out[line.slice(0, at).trim()] = line.slice(at + 1).trim()
  }
  return out
}

// pairLines returns the text for values by their names.
export function pairLines(of: Record<string, string> | undefined, between: Between): string {
  return Object.entries(of ?? {}).map(([k, v]) => k + (between === ':' ? ': ' : between) + v).join('\n')
}

// wrongPairs returns the error of a text, or undefined.
export function wrongPairs(text: string, between: Between): string | undefined {
  if (filled(text).every((line) => line.indexOf(between) > 0)) return undefined
  return `Each line must have the form ${between === ':' ? 'name: value' : 'key=value'}.`
}
