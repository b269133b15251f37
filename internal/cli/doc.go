// Package cli is the command line of Foliot.
//
// root.go declares all commands and runs the one that was given. The commands
// of tasks, schedules and operators are in packages of their own: tasks, cron,
// transfer, admin and receive. Below them lie the packages that they share:
// console, exit, flags, connect, contexts, delivery and wording. The commands of the
// server itself, the doctor's flags and the man page are here.
//
// A command is a struct: its fields are the flags and arguments, Help returns the
// text below its usage line, and Run runs it.
//
// The tests here run the whole program.
package cli
