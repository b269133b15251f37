// Package completion completes command lines in bash, zsh and fish. The shell's
// completion script calls the hidden command foliot complete to get the
// completions. Names of records come from the server.
package completion
