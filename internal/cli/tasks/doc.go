// Package tasks has the commands that create, show and change tasks. A file is
// named after its command.
package tasks
