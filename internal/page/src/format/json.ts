// JSON as text. The functions here read the text itself, because JSON.parse rounds
// large numbers: a body must be shown as it is sent.

const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs

// indent returns valid JSON with one member per line.
export function indent(text: string): string {
  let out = ''
  let depth = 0
  const line = () => '\n' + '  '.repeat(depth)
  const all = text.match(token) ?? []
  all.forEach((t, i) => {
    const opened = all[i - 1] === '{' || all[i - 1] === '['
    if (t === '}' || t === ']') {
      depth--
      out += opened ? t : line() + t
      return
    }
    if (opened) out += line()
    out += t
    if (t === '{' || t === '[') depth++
    else if (t === ',') out += line()
    else if (t === ':') out += ' '
  })
  return out
}

// member returns the text of the value of a member of an object, or undefined.
export function member(text: string, ...path: string[]): string | undefined {
  let found: string | undefined = text
  for (const name of path) found = found === undefined ? undefined : direct(found, name)
  return found
}

function direct(text: string, name: string): string | undefined {
  const key = JSON.stringify(name)
  let depth = 0
  let begin = -1
  const all = [...text.matchAll(token)]
  for (const [i, { 0: t, index }] of all.entries()) {
    if (begin >= 0 && depth === 1 && (t === ',' || t === '}')) return text.slice(begin, index).trim()
    if (t === '{' || t === '[') depth++
    else if (t === '}' || t === ']') depth--
    else if (begin < 0 && depth === 1 && t === key && all[i + 1]?.[0] === ':') begin = all[i + 1]!.index + 1
  }
  return undefined
}
