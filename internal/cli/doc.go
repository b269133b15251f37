// Package cli is the command line of Foliot: commands, tables, exit codes, help.
//
// root.go has all commands and carries one out. A file has the name of its
// command, or of the noun that several commands share.
package cli
