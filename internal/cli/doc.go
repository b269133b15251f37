// Package cli is the command line of Foliot: commands, tables, exit codes, help.
//
// root.go declares all commands and runs the one that was given. A file is
// named after its command, or after the noun that several commands share.
package cli
