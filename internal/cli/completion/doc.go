// Package completion completes command lines in bash, zsh and fish. A script of
// the shell calls the hidden command foliot complete for the completions.
package completion
