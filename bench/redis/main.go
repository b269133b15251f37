// Command redis compares Foliot on Redis, asynq and the original design under
// the same load, and writes docs/redis-benchmarks.md. Run it from the root of
// the repository: make bench-redis.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/program"
	"github.com/foliot/foliot/bench/redis/contender"
	"github.com/foliot/foliot/bench/redis/report"
)

var self = program.Program{
	Name:    "bench-redis",
	Results: "redis.json",
	Page:    "redis-benchmarks.md",
	Usage:   help,
	Sources: []string{"wheel", "internal", "client", "cmd", "bench/redis"},
	Modules: []string{"github.com/hibiken/asynq", "github.com/redis/go-redis/v9", "github.com/redis/rueidis"},
}

const help = `usage: make bench-redis [ARGS='flags']      (from the root of the repository; needs redis-server)

Compares programs that keep tasks in Redis and call URLs at given times. It loads one after another and prints the results:

  all measurements  bench/results/redis.json, docs/redis-benchmarks.md    about 6 minutes
  some of them      the same files below bin/bench-redis/; their paths are printed

Run nothing else on the machine at the same time. Flags:

`

func main() {
	if child.Role() == contender.Role {
		fmt.Fprintln(os.Stderr, child.Serve(new(contender.Node)))
		os.Exit(1)
	}
	self.Main(run)
}

var kinds = []string{report.Create, report.Late, report.Drain, report.Idle}

// settings are the flags.
type settings struct {
	program.Settings
	contenders, kinds []string
	foliot            string
}

func parse(args []string) (s settings, err error) {
	flags := self.Flags(&s.Settings, "few tasks: about a minute, to check that everything works")
	var contenders, some string
	flags.StringVar(&contenders, "contender", "", "measure only these, separated by commas: "+strings.Join(names(), ", "))
	flags.StringVar(&some, "part", "", "run only these parts, separated by commas: "+strings.Join(kinds, ", "))
	flags.StringVar(&s.foliot, "foliot", "bin/foliot", "the binary to measure")
	if err := program.Parse(flags, args); err != nil {
		return s, err
	}
	if s.contenders, err = program.Among("contender", contenders, names()); err != nil {
		return s, err
	}
	if s.kinds, err = program.Among("part", some, kinds); err != nil {
		return s, err
	}
	self.SetDefaults(&s.Settings, !s.Quick && len(s.contenders) == len(contender.All) && len(s.kinds) == len(kinds))
	return s, nil
}

func names() (list []string) {
	for i := range contender.All {
		list = append(list, contender.All[i].Name)
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
