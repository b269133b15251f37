// Package wording writes values as the command line shows them: times, ages,
// sizes, and text from strangers without control characters.
package wording
