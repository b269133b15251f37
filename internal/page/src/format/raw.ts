// Parts of a JSON text as they came. JSON.parse changes large numbers, so a body
// that a visitor does not edit must not pass through it.

// member returns the text of a member of nested objects, or undefined.
export function member(text: string, ...path: string[]): string | undefined {
  let at = 0
  for (const name of path) {
    const found = find(text, at, name)
    if (found === undefined) return undefined
    at = found
  }
  return text.slice(at, end(text, at))
}

// find returns the position of the value of a member of the object at a position.
function find(text: string, at: number, name: string): number | undefined {
  if (text[at] !== '{') return undefined
  let i = space(text, at + 1)
  while (i < text.length && text[i] !== '}') {
    const after = end(text, i)
    const value = space(text, space(text, after) + 1) // past the colon
    if (JSON.parse(text.slice(i, after)) === name) return value
    i = space(text, end(text, value))
    if (text[i] === ',') i = space(text, i + 1)
  }
  return undefined
}

// end returns the position after the value at a position.
function end(text: string, at: number): number {
  let depth = 0
  for (let i = at; i < text.length; i++) {
    const c = text[i]!
    if (c === '"') {
      for (i++; i < text.length && text[i] !== '"'; i++) if (text[i] === '\\') i++
      if (depth === 0) return i + 1
    } else if (c === '{' || c === '[') depth++
    else if (c === '}' || c === ']') {
      if (depth === 0) return i
      if (--depth === 0) return i + 1
    } else if (depth === 0 && /[\s,:]/.test(c)) return i
  }
  return text.length
}

function space(text: string, at: number): number {
  while (/\s/.test(text[at] ?? '')) at++
  return at
}
