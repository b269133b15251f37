// Package exit decides how a command ends: its exit code, and the line of text
// that its error becomes.
//
// CodeOf and OneLine judge any error. A refusal of the server is described with
// the flags and arguments of the command, and with a remedy.
package exit
