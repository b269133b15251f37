// Command bench compares Foliot with package time, go-zero's TimingWheel and
// four textbook designs, and writes docs/benchmarks.md. Run it from the root of
// the repository: make bench.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/program"
	"github.com/foliot/foliot/bench/report"
)

var self = program.Program{
	Name:    "bench",
	Results: "wheel.json",
	Page:    "benchmarks.md",
	Usage:   help,
	Sources: []string{"wheel", "bench"},
	Modules: []string{"github.com/zeromicro/go-zero"},
}

const help = `usage: make bench [ARGS='flags']      (from the root of the repository)

Compares timers. Each measurement runs in a process of its own. The results go to:

  all measurements  bench/results/wheel.json, docs/benchmarks.md    about 20 minutes
  some of them      the same files below bin/bench/; their paths are printed

Run nothing else on the machine at the same time. Flags:

`

func main() { self.Main(run) }

// settings are the flags.
type settings struct {
	program.Settings
	options
	list  bool
	child string
}

func parse(args []string) (s settings, err error) {
	flags := self.Flags(&s.Settings, "n up to 10^5, short windows, one trial: less than two minutes, to check that everything works")
	var workloads, peers, ns string
	flags.StringVar(&workloads, "workload", "", "run only these workloads, separated by commas")
	flags.StringVar(&peers, "impl", "", "measure only these implementations, separated by commas")
	flags.StringVar(&ns, "n", "", "use only these numbers of timers, separated by commas: 1000, 100000, 1000000, 10000000;\nworkloads with a single number ignore this flag")
	flags.IntVar(&s.trials, "trials", 0, "number of trials of each measurement; the result is their median (default 3, with -quick 1)")
	flags.BoolVar(&s.list, "list", false, "list the workloads and the implementations")
	flags.StringVar(&s.child, "child", "", "run one measurement, given as JSON, in this process (for internal use)")
	if err := program.Parse(flags, args); err != nil {
		return s, err
	}
	s.quick, s.workloads, s.peers = s.Quick, program.Words(workloads), program.Words(peers)
	for _, word := range program.Words(ns) {
		n, err := strconv.ParseFloat(word, 64) // accepts 1e6 too
		if err != nil {
			return s, fmt.Errorf("-n: %q is not a number", word)
		}
		s.ns = append(s.ns, int(n))
	}
	self.SetDefaults(&s.Settings, !s.quick && len(s.workloads) == 0 && len(s.peers) == 0 && len(s.ns) == 0 && (s.trials == 0 || s.trials >= 3))
	if s.trials == 0 {
		s.trials = 3
		if s.quick {
			s.trials = 1
		}
	}
	return s, s.check()
}

func run(args []string) error {
	s, err := parse(args)
	switch {
	case err != nil:
		return err
	case s.child != "":
		return child(s.child)
	case s.list:
		list(os.Stdout)
		return nil
	}
	r := new(report.Run)
	return self.Run(args, &s.Settings, r, func(ctx context.Context) error {
		p := newPlan(s.options)
		if len(p.groups) == 0 {
			return errors.New("these flags leave no measurement")
		}
		r.Skipped, r.Results = p.skipped, measureAll(ctx, p, os.Stderr)
		return context.Cause(ctx)
	})
}

func list(out io.Writer) {
	fmt.Fprintln(out, "workloads:")
	for _, s := range full {
		if s.what != "" {
			fmt.Fprintf(out, "  %-14s %s\n", s.workload, s.what)
		}
	}
	fmt.Fprintln(out, "implementations:")
	for _, p := range peer.All {
		fmt.Fprintf(out, "  %-14s %s\n", p.Name, p.What)
	}
}
