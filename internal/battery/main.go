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
	{"crowd", "-stuck tasks to a host that hangs, in a queue of their own, beside 200 a second", crowd},
	{"hosts", "the same to -hosts hosts that all hang", hosts},
	{"limits", "a queue's rate, concurrency and pause, as the receiver sees them", limits},
	{"fair", "a queue with a backlog of -backlog, and one with 100 tasks", fair},
	{"purge", "a queue purged while it delivers: what stops, what does not", purge},
	{"rotate", "secrets and tokens replaced under load: nothing rejected, the old ones refused", rotate},
	{"backup", "a backup under 500 creates a second, restored elsewhere and compared", backedUp},
	{"watchdog", "touched every 300 ms for a delay of 1 s: silent, then fires once", watchdog},
	{"creates", "64 clients creating single tasks: at least 5,000 a second", creates},
	{"million", "1,000,000 tasks by import: rate, memory, restart, listing", million},
	{"second", "-herd tasks due in one second, beside a queue with a few: none lost, memory, rate", second},
	{"overdue", "down for a day, -overdue tasks due meanwhile: none skipped, in order", overdue},
	{"throughput", "deliveries a second of -drained tasks, with signatures and without", throughput},
}

// options are the flags.
type options struct {
	binary string
	kills  int
	cancel float64 // share of the tasks that kill cancels
	tasks  int     // of million

	stuck   int           // crowd, hosts
	hosts   int           // hosts
	phase   time.Duration // crowd, hosts
	herd    int           // second
	drained int           // throughput
	backlog int           // fair
	overdue int           // overdue

	seed    uint64
	keep    bool
	profile bool
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
	if len(args) == 2 && args[0] == sinkCommand {
		if err := runSink(args[1], os.Stdin, stdout); err != nil {
			fmt.Fprintln(stderr, "battery: sink:", err)
			return 1
		}
		return 0
	}
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
	flags.IntVar(&opts.stuck, "stuck", 10_000, "crowd, hosts: how many tasks hang")
	flags.IntVar(&opts.hosts, "hosts", 150, "hosts: how many hosts hang")
	flags.DurationVar(&opts.phase, "phase", 10*time.Second, "crowd, hosts: how long lateness is measured, alone and beside")
	flags.IntVar(&opts.herd, "herd", 50_000, "second: how many tasks; first a fifth of them")
	flags.IntVar(&opts.drained, "drained", 20_000, "throughput: how many tasks in each of its four drains")
	flags.IntVar(&opts.backlog, "backlog", 20_000, "fair: how many tasks one queue has before the other")
	flags.IntVar(&opts.overdue, "overdue", 50_000, "overdue: how many tasks came due while the server was down")
	flags.Uint64Var(&opts.seed, "seed", uint64(time.Now().UnixNano()), "of the random moments (default: another one each time)")
	flags.BoolVar(&opts.keep, "keep", false, "keep logs and data")
	flags.BoolVar(&opts.profile, "profile", false, "throughput: show where the server's time goes (not with -foliot)")
	full := flags.Bool("full", false, "the sizes that are promised, where no flag says otherwise: minutes, and hours for kill")
	flags.Usage = func() {
		fmt.Fprintf(stderr, "Usage: battery [flags] [scenario ...]\n\nDrives the foliot binary from outside. Without names all scenarios run:\n\n")
		for _, s := range scenarios {
			fmt.Fprintf(stderr, "  %-10s %s\n", s.name, s.what)
		}
		fmt.Fprintf(stderr, "\nExits with 0 when all have passed, 1 when one failed, 2 on bad input. Flags:\n\n")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if *full {
		if err := enlarge(flags); err != nil {
			return nil, err
		}
	}
	if err := opts.check(); err != nil {
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

// fullSizes are what -full sets.
var fullSizes = map[string]string{
	"kills": "10000", "stuck": "100000", "phase": "30s", "herd": "1000000", "drained": "300000", "backlog": "100000", "overdue": "5000000",
}

// enlarge sets the flags that were not given to their full sizes.
func enlarge(flags *flag.FlagSet) error {
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, size := range fullSizes {
		if given[name] {
			continue
		}
		if err := flags.Set(name, size); err != nil {
			return err
		}
	}
	return nil
}

// check refuses what no scenario can run with.
func (o *options) check() error {
	for name, size := range map[string]int{
		"kills": o.kills, "tasks": o.tasks, "stuck": o.stuck, "hosts": o.hosts, "herd": o.herd / 5,
		"drained": o.drained, "backlog": o.backlog, "overdue": o.overdue,
	} {
		if size < 1 {
			return fmt.Errorf("-%s is too small", name)
		}
	}
	if o.phase < time.Second {
		return errors.New("-phase is below a second")
	}
	if o.profile && o.binary != "" {
		return errors.New("-profile needs a binary that the battery builds: leave -foliot out")
	}
	return nil
}

// runAll returns how many scenarios failed. An error is the battery's own.
func runAll(ctx context.Context, chosen []scenario, opts options, dir string, stdout io.Writer) (failed int, err error) {
	if opts.binary == "" {
		if opts.binary, err = build(ctx, dir, opts.profile); err != nil {
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
