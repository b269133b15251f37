// Command foliot is the durable timer service and its command line. It calls a
// URL at a given time.
//
// Package internal/cli has the commands, signals and exit codes, so that its
// tests can run the whole program as a process.
package main

import (
	"os"

	"github.com/foliot/foliot/internal/cli"
)

func main() { os.Exit(cli.Main()) }
