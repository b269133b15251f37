// Package exit decides how a command ends: its exit code, and the line of text or the object
// that its error becomes.
//
// CodeOf and Words accept any error. If the server refused a request, the line
// names the flags and arguments of the command, and the remedy.
package exit
