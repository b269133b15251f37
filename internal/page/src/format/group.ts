// grouped returns the elements of a list by key, in the order of their first element.
export function grouped<T>(list: T[], key: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const one of list) {
    const k = key(one)
    const group = groups.get(k)
    if (group) group.push(one)
    else groups.set(k, [one])
  }
  return groups
}
