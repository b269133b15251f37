// Command embed compares libraries that keep timers durably for a Go program,
// and writes docs/embed-benchmarks.md. Run it from the root of the repository:
// make bench-embed.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/embed/contender"
	"github.com/foliot/foliot/bench/embed/report"
	"github.com/foliot/foliot/bench/embed/trial"
	"github.com/foliot/foliot/bench/program"
)

var self = program.Program{
	Name:    "bench-embed",
	Results: "embed.json",
	Page:    "embed-benchmarks.md",
	Usage:   help,
	Sources: []string{"*.go", "dir", "redis", "wheel", "internal", "client", "bench/embed"},
	Modules: []string{
		"github.com/hibiken/asynq", "github.com/redis/go-redis/v9", "github.com/redis/rueidis", "github.com/cockroachdb/pebble/v2",
		"github.com/riverqueue/river", "github.com/riverqueue/river/riverdriver/riverpgxv5", "github.com/riverqueue/river/riverdriver/riversqlite",
		"github.com/jackc/pgx/v5", "modernc.org/sqlite",
	},
}

const help = `usage: make bench-embed [ARGS='flags']      (from the root of the repository)

Compares libraries that keep timers durably for a Go program. It starts its own redis-server and PostgreSQL on loopback, and
stops them at the end. If a server is not installed, it omits the libraries that need that server. It measures one library
after another and writes the results:

  all measurements  bench/results/embed.json, docs/embed-benchmarks.md    about 25 minutes
  some of them      the same files below bin/bench-embed/; their paths are printed

Run nothing else on the machine at the same time. Flags:

`

func main() {
	if child.Role() == trial.Role {
		fmt.Fprintln(os.Stderr, child.Serve(new(trial.Node)))
		os.Exit(1)
	}
	self.Main(run)
}

// settings are the flags.
type settings struct {
	program.Settings
	contenders, parts []string
	n, rounds         int
}

// full is the default of -n.
const full = 100_000

func parse(args []string) (s settings, err error) {
	flags := self.Flags(&s.Settings, "few tasks: some minutes, to check that everything works")
	flags.BoolVar(&s.Quick, "small", false, "the same as -quick")
	flags.IntVar(&s.n, "n", full, "how many tasks wait; a backlog has 10 % of them, and a measurement of lateness 6 %")
	flags.IntVar(&s.rounds, "rounds", 3, "how often each rate is measured; the page shows the medians")
	var contenders, parts string
	flags.StringVar(&contenders, "contender", "", "measure only these, separated by commas: "+strings.Join(contender.Names(), ", "))
	flags.StringVar(&parts, "part", "", "run only these parts, separated by commas: "+strings.Join(report.Parts, ", "))
	if err := program.Parse(flags, args); err != nil {
		return s, err
	}
	if s.contenders, err = program.Among("contender", contenders, contender.Names()); err != nil {
		return s, err
	}
	if s.parts, err = program.Among("part", parts, report.Parts); err != nil {
		return s, err
	}
	if s.n < 100 || s.rounds < 1 {
		return s, fmt.Errorf("-n must be at least 100, and -rounds at least 1")
	}
	everything := len(s.contenders) == len(contender.All) && len(s.parts) == len(report.Parts)
	self.SetDefaults(&s.Settings, !s.Quick && everything && s.n == full && s.rounds > 1)
	if s.Quick {
		s.n, s.rounds = 2000, 1
	}
	return s, nil
}

func run(args []string) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	r := new(report.Run)
	return self.Run(args, &s.Settings, r, func(ctx context.Context) error { return measureAll(ctx, &s, r, os.Stderr) })
}
