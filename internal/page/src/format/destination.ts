// destinationOf returns the host and port of a URL, as the API names destinations.
export function destinationOf(url: string): string {
  try {
    const u = new URL(url)
    return `${u.hostname.replace(/\.$/, '')}:${u.port || (u.protocol === 'https:' ? '443' : '80')}`
  } catch {
    return url
  }
}
