import { requestNamespace } from '../state/session'

// Commands of foliot that do the same as an action of the page.

// A terminal acts on control characters when they are pasted, so they are escaped.
const control = /[\0-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]/

// quote returns a word as one argument of a shell. Words with control characters have
// the form $'…', which bash, zsh and ksh read.
export function quote(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word
  if (!control.test(word)) return `'${word.replaceAll("'", `'\\''`)}'`
  const bytes = (c: string) => [...new TextEncoder().encode(c)].map((b) => '\\' + b.toString(8).padStart(3, '0')).join('')
  return `$'${word.replace(/['\\]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t').replace(new RegExp(control, 'g'), bytes)}'`
}

type Word = string | false | undefined | null

// foliot returns a command line with the server and the namespace of the session.
// Arguments that are no text are left out.
export function foliot(...args: Word[]): string {
  return foliotIn(requestNamespace(), ...args)
}

// foliotIn is foliot for another namespace, or for all of them if that is ''.
export function foliotIn(namespace: string, ...args: Word[]): string {
  const words = args.filter((a): a is string => typeof a === 'string')
  const server = new URL('..', document.baseURI).href.replace(/\/$/, '')
  words.push('--server', server) // FOLIOT_SERVER may name another one
  if (namespace) words.push('--namespace', namespace)
  return ['foliot', ...words.map(quote)].join(' ')
}
