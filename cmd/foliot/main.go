// Command foliot is the durable timer service and its command line: call this
// URL at this time.
//
// Package internal/cli has the commands, the signals and the exit codes. They are
// there and not here because its tests run the whole program as a process.
package main

import (
	"os"

	"github.com/foliot/foliot/internal/cli"
)

func main() { os.Exit(cli.Main()) }
