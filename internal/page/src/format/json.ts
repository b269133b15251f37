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

// rounded returns the first number of a JSON text that a browser cannot hold
// exactly, or undefined.
export function rounded(text: string): string | undefined {
  return text.match(token)?.find((t) => /^-?\d/.test(t) && t.replace(/\D/g, '').length > 15 && String(Number(t)) !== t)
}
