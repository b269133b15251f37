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
  words.push('--server', server) // FOLIOT_SERVER may name another one
  if (me.value?.operator && me.value.secured) words.push('--namespace', namespace.value || me.value.namespace)
  return ['foliot', ...words.map(quote)].join(' ')
}
