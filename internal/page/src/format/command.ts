import { me, namespace } from '../state/session'

// Commands of foliot that do the same as an action of the page.

// quote returns a word as one argument of a shell.
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

// foliot returns a command line with the server and the namespace of the session.
// Empty arguments are left out.
export function foliot(...args: (string | false | undefined | null)[]): string {
  const words = args.filter((a): a is string => typeof a === 'string' && a !== '')
  const server = new URL('..', document.baseURI).href.replace(/\/$/, '')
  if (server !== 'http://127.0.0.1:8750' && server !== 'http://localhost:8750') words.push('--server', server)
  if (namespace.value && namespace.value !== me.value?.token?.namespace && namespace.value !== 'default') words.push('--namespace', namespace.value)
  return ['foliot', ...words.map(quote)].join(' ')
}
