import { requestNamespace } from '../state/session'

// Commands of foliot that do the same as an action of the page.

// A terminal acts on control characters when they are pasted, and no notation for them
// is the same in all shells. So a command with one is replaced by this reason.
export const noCommand = 'There is no command: a value has a control character, which a terminal would act on.'

const control = /[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

// hasControl reports whether no command may have the text.
export const hasControl = (text: string): boolean => text.search(control) >= 0

// plainJSON returns the same JSON value without control characters.
export function plainJSON(text: string): string {
  return text.replace(control, (c) => (c < ' ' ? ' ' : '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0')))
}

// quote returns a word as one argument for sh, bash, dash, zsh and fish. Within '…' a
// backslash is special for fish only, so it is outside, as a quote is.
export function quote(word: string): string {
  return /^[\w@+:,./-][\w@+=:,./-]*$/.test(word) ? word : `'${word.replace(/['\\]/g, "'\\$&'")}'`
}

// commandLine joins words of a shell and marks of its language, or returns noCommand.
export function commandLine(parts: string[], between = ' '): string {
  return parts.some(hasControl) ? noCommand : parts.join(between)
}

// withToken returns the part of a command in front of curl and its first option. The
// token must not be an argument of curl, which other users can see: printf is a part of
// each shell, so it has no entry in the list of processes.
export const withToken = `printf 'Authorization: Bearer %s' "$FOLIOT_TOKEN" | curl -H @-`

type Word = string | false | undefined | null

// foliot returns a command line with the server and the namespace of the session.
// Arguments that are no text are left out. It returns noCommand if a shell cannot have it.
export function foliot(...args: Word[]): string {
  return foliotIn(requestNamespace(), ...args)
}

// foliotIn is foliot for another namespace, or for all of them if that is ''.
export function foliotIn(namespace: string, ...args: Word[]): string {
  const words = args.filter((a): a is string => typeof a === 'string')
  const server = new URL('..', document.baseURI).href.replace(/\/$/, '')
  words.push('--server', server) // FOLIOT_SERVER may name another one
  if (namespace) words.push('--namespace', namespace)
  return commandLine(['foliot', ...words.map(quote)])
}
