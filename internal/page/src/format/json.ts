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

// rounded returns the first number of a JSON text that a browser cannot hold
// exactly, or undefined.
export function rounded(text: string): string | undefined {
  return text.match(token)?.find((t) => /^-?\d/.test(t) && decimal(t) !== decimal(String(Number(t))))
}

// decimal returns the exact value of a number with one spelling: 1.50 and 15e-1 are the
// same. It returns other text, such as Infinity, as it is.
function decimal(text: string): string {
  const [, sign, whole, part = '', exponent = 0] = /^(-?)(\d+)(?:\.(\d+))?(?:e([-+]?\d+))?$/i.exec(text) ?? []
  if (whole === undefined) return text
  const digits = (whole + part).replace(/^0+/, '')
  const short = digits.replace(/0+$/, '')
  return sign! + short + (short && 'e' + (Number(exponent) - part.length + digits.length - short.length))
}
