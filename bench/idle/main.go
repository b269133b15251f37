// Command idle loads package idle and the usual ways to find idle connections
// in the same way, and writes docs/idle-benchmarks.md. Run it from the root of
// the repository: make bench-idle.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/idle/activity"
	"github.com/foliot/foliot/bench/idle/client"
	"github.com/foliot/foliot/bench/idle/guard"
	"github.com/foliot/foliot/bench/idle/report"
	"github.com/foliot/foliot/bench/idle/server"
	"github.com/foliot/foliot/bench/idle/virtual"
	"github.com/foliot/foliot/bench/program"
)

var self = program.Program{
	Name:    "bench-idle",
	Results: "idle.json",
	Page:    "idle-benchmarks.md",
	Usage:   help,
	Sources: []string{"wheel", "idle", "bench/idle"},
}

const help = `usage: make bench-idle [ARGS='flags']      (from the root of the repository)

Loads ways to close idle connections, one after another, and prints the results:

  all measurements  bench/results/idle.json, docs/idle-benchmarks.md    about 10 minutes
  some of them      the same files below bin/bench-idle/; their paths are printed

Run nothing else on the machine at the same time. Flags:

`

func main() {
	if role := child.Role(); role != "" {
		fmt.Fprintln(os.Stderr, serve(role))
		os.Exit(1)
	}
	self.Main(run)
}

// serve runs a child process in its role.
func serve(role string) error {
	switch role {
	case "server":
		return child.Serve(new(server.Server))
	case "client":
		return child.Serve(new(client.Client))
	case "meter":
		return child.Serve(new(activity.Meter))
	case "virtual":
		return child.Serve(new(virtual.Load))
	}
	return fmt.Errorf("unknown role %q", role)
}

// The parts of a run.
const (
	partSockets = "sockets"
	partUse     = "use"
	partCrowd   = "crowd"
	partHerd    = "herd"
)

var parts = []string{partSockets, partUse, partCrowd, partHerd}

// settings are the flags.
type settings struct {
	program.Settings
	n             int
	guards, parts []string
}

func parse(args []string) (s settings, err error) {
	flags := self.Flags(&s.Settings, "few connections and short timeouts: less than a minute, to check that everything works")
	var guards, some string
	flags.IntVar(&s.n, "n", 0, "number of connections (default: as many as the machine allows, with -quick 1000)")
	flags.StringVar(&guards, "guard", "", "measure only these guards, separated by commas: "+strings.Join(names(), ", "))
	flags.StringVar(&some, "part", "", "run only these parts, separated by commas: "+strings.Join(parts, ", "))
	if err := program.Parse(flags, args); err != nil {
		return s, err
	}
	if s.guards, err = program.Among("guard", guards, names()); err != nil {
		return s, err
	}
	if s.parts, err = program.Among("part", some, parts); err != nil {
		return s, err
	}
	if s.n < 0 || s.n > 0 && s.n < 50 {
		return s, fmt.Errorf("-n: %d connections are too few: at least 50", s.n)
	}
	self.SetDefaults(&s.Settings, !s.Quick && s.n == 0 && len(s.guards) == len(guard.All) && len(s.parts) == len(parts))
	return s, nil
}

func names() (list []string) {
	for i := range guard.All {
		list = append(list, guard.All[i].Name)
	}
	return list
}

func run(args []string) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	r := new(report.Run)
	return self.Run(args, &s.Settings, r, func(ctx context.Context) error { return measureAll(ctx, &s, r, os.Stderr) })
}
