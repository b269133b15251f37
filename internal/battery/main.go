package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// scenario is one line of what must be shown. Its run ends in bounded time,
// whatever the server does.
type scenario struct {
	name string
	what string
	run  func(context.Context, *trial) error
}

// scenarios are in the order in which they run.
var scenarios = []scenario{
	{"steady", "2,000 tasks due over 5 s: lost, early, duplicates, lateness", steady},
	{"kill", "kill -9 at random moments under 500 creates a second, some tasks cancelled", killed},
	{"cancel", "10,000 cancels at due ±5 ms: none delivered after a 200", cancels},
	{"poison", "a receiver that kills the server with each attempt: dead after 10 reclaims", poison},
	{"hang", "10,000 tasks to a host that hangs, beside 200 a second to one that answers", hang},
	{"watchdog", "touched every 300 ms for a delay of 1 s: silent, then fires once", watchdog},
	{"creates", "64 clients creating single tasks: at least 5,000 a second", creates},
	{"million", "1,000,000 tasks by import: rate, memory, restart, listing", million},
}

// options are the flags.
type options struct {
	binary string
	kills  int
	cancel float64 // share of the tasks that kill cancels
	tasks  int     // of million
	seed   uint64
	keep   bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run carries the named scenarios out and returns 0 when all have passed, 1
// when one failed, 2 on bad input.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var opts options
	chosen, err := parse(args, &opts, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "battery:", err)
		return 2
	}
	dir, err := os.MkdirTemp("", "foliot-battery-")
	if err != nil {
		fmt.Fprintln(stderr, "battery:", err)
		return 1
	}
	failed, err := runAll(ctx, chosen, opts, dir, stdout)
	if err != nil {
		fmt.Fprintln(stderr, "battery:", err)
	}
	if opts.keep || failed > 0 || err != nil {
		fmt.Fprintf(stdout, "logs and data are kept in %s\n", dir)
	} else if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(stderr, "battery:", err)
	}
	if failed > 0 || err != nil {
		return 1
	}
	return 0
}

func parse(args []string, opts *options, stderr io.Writer) ([]scenario, error) {
	flags := flag.NewFlagSet("battery", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&opts.binary, "foliot", "", "the `binary` to drive (default: built from this tree)")
	flags.IntVar(&opts.kills, "kills", 200, "kill: how often")
	flags.Float64Var(&opts.cancel, "cancel", 0.10, "kill: the share of the tasks that is cancelled")
	flags.IntVar(&opts.tasks, "tasks", 1_000_000, "million: how many")
	flags.Uint64Var(&opts.seed, "seed", uint64(time.Now().UnixNano()), "of the random moments (default: another one each time)")
	flags.BoolVar(&opts.keep, "keep", false, "keep logs and data")
	flags.Usage = func() {
		fmt.Fprintf(stderr, "Usage: battery [flags] [scenario ...]\n\nDrives the foliot binary from outside. Without names all scenarios run:\n\n")
		for _, s := range scenarios {
			fmt.Fprintf(stderr, "  %-9s %s\n", s.name, s.what)
		}
		fmt.Fprintf(stderr, "\nExits with 0 when all have passed, 1 when one failed, 2 on bad input. Flags:\n\n")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() == 0 {
		return scenarios, nil
	}
	var chosen []scenario
	for _, name := range flags.Args() {
		i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no scenario %q: see --help", name)
		}
		chosen = append(chosen, scenarios[i])
	}
	return chosen, nil
}

// runAll returns how many scenarios failed. An error is the battery's own.
func runAll(ctx context.Context, chosen []scenario, opts options, dir string, stdout io.Writer) (failed int, err error) {
	if opts.binary == "" {
		if opts.binary, err = build(ctx, dir); err != nil {
			return 0, err
		}
	}
	fmt.Fprintf(stdout, "seed %d\n", opts.seed)
	for _, s := range chosen {
		t := &trial{opts: opts, dir: filepath.Join(dir, s.name), out: stdout, rand: rand.New(rand.NewPCG(opts.seed, 0))}
		if err := os.Mkdir(t.dir, 0o700); err != nil {
			return failed, err
		}
		fmt.Fprintf(stdout, "\n%s: %s\n", s.name, s.what)
		began := time.Now()
		err := s.run(ctx, t)
		if err != nil {
			t.must(false, "the trial ended early: %v", err)
		}
		fmt.Fprintf(stdout, "  %s in %.1f s\n", t.word(), time.Since(began).Seconds())
		if t.failed {
			failed++
		}
		if ctx.Err() != nil {
			return failed, ctx.Err()
		}
	}
	return failed, nil
}
