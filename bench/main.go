// Command bench measures Foliot beside package time, go-zero's TimingWheel and four textbook designs, and writes
// docs/benchmarks.md. It is run from the root of the repository: make bench.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/bench/report"
)

const usage = `usage: make bench [ARGS='flags']      (from the root of the repository)

Measures timers side by side, each measurement in a process of its own, and writes what came out:

  the whole set     bench/results/latest.json, docs/benchmarks.md, docs/benchmarks/*.svg    about 20 minutes
  a part of it      the same files below bin/bench/, and prints where

Let the machine do nothing else meanwhile. Flags:

`

func main() {
	switch err := run(os.Args[1:]); {
	case err == nil, errors.Is(err, flag.ErrHelp):
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// settings are the flags.
type settings struct {
	options
	results, docs string
	list, report  bool
	child         string
}

func parse(args []string) (s settings, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	var workloads, peers, ns string
	flags.BoolVar(&s.quick, "quick", false, "n up to 10^5, short windows, one trial: less than two minutes, to see that all works")
	flags.StringVar(&workloads, "workload", "", "only these workloads, with commas between them")
	flags.StringVar(&peers, "impl", "", "only these implementations, with commas between them")
	flags.StringVar(&ns, "n", "", "only these numbers of timers, with commas between them: 1000, 100000, 1000000, 10000000;\nworkloads that know but one keep it")
	flags.IntVar(&s.trials, "trials", 0, "how often each is measured; the median counts (default 3, with -quick 1)")
	flags.StringVar(&s.results, "results", "", "the file of the raw results")
	flags.StringVar(&s.docs, "docs", "", "the folder where benchmarks.md is written, and benchmarks/ with the plots")
	flags.BoolVar(&s.report, "report", false, "measure nothing: write docs again, from the raw results")
	flags.BoolVar(&s.list, "list", false, "name the workloads and the implementations")
	flags.StringVar(&s.child, "child", "", "do one measurement in this process, given as JSON (the harness calls itself so)")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("%q is not a flag; -help shows them", flags.Arg(0))
	}
	s.workloads, s.peers = split(workloads), split(peers)
	for _, word := range split(ns) {
		n, err := strconv.ParseFloat(word, 64) // 1e6 as well
		if err != nil {
			return s, fmt.Errorf("-n: %q is not a number", word)
		}
		s.ns = append(s.ns, int(n))
	}
	s.setDefaults()
	return s, s.check()
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// setDefaults keeps what is only a part away from the published results.
func (s *settings) setDefaults() {
	results, docs := "bench/results/latest.json", "docs"
	if !s.whole() {
		results, docs = "bin/bench/latest.json", "bin/bench"
	}
	if s.results == "" {
		s.results = results
	}
	if s.docs == "" {
		s.docs = docs
	}
	if s.trials == 0 {
		s.trials = 3
		if s.quick {
			s.trials = 1
		}
	}
}

// whole reports whether everything is measured, as it is to be published.
func (s *settings) whole() bool {
	return !s.quick && len(s.workloads) == 0 && len(s.peers) == 0 && len(s.ns) == 0 && (s.trials == 0 || s.trials >= 3)
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
	if err := atRoot(); err != nil {
		return err
	}
	if s.report {
		r, err := record.Load(s.results)
		if err != nil {
			return err
		}
		return publish(s, r)
	}
	return measureAndPublish(s, args)
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

// atRoot fails where the files would be written to the wrong place.
func atRoot() error {
	data, err := os.ReadFile("go.mod")
	if err != nil || !strings.HasPrefix(string(data), "module github.com/foliot/foliot\n") {
		return errors.New("this is not the root of the repository; there, call: make bench")
	}
	return nil
}

func measureAndPublish(s settings, args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	p := newPlan(s.options)
	if len(p.groups) == 0 {
		return errors.New("nothing is left to measure with these flags")
	}
	r := &record.Run{
		Started: time.Now().UTC().Truncate(time.Second),
		Command: command(args),
		Commit:  commit(),
		Go:      runtime.Version(),
		Modules: modules(),
		Machine: record.ThisMachine(),
		Skipped: p.skipped,
	}
	progress := newProgress(os.Stderr, &p)
	r.Results = measureAll(ctx, p, progress)
	r.Took = time.Since(r.Started).Round(time.Second).Seconds()
	r.Complete = s.whole() && ctx.Err() == nil
	if ctx.Err() != nil {
		s.results = "bin/bench/interrupted.json"
	}
	if err := os.MkdirAll(filepath.Dir(s.results), 0o755); err != nil {
		return fmt.Errorf("make the folder of the results: %w", err)
	}
	if err := r.Save(s.results); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted; what was measured is in %s, docs are as they were", s.results)
	}
	return errors.Join(publish(s, r), failed(r.Results))
}

func publish(s settings, r *record.Run) error {
	paths, err := report.Write(s.docs, r)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "from %s: %s and %s\n", s.results, paths[0], page.Plural(len(paths)-1, "plot"))
	return nil
}

func command(args []string) string {
	if len(args) == 0 {
		return "make bench"
	}
	return fmt.Sprintf("make bench ARGS='%s'", strings.Join(args, " "))
}

// commit names what was measured, and whether the working tree differed from it where it matters.
func commit() string {
	head, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(string(head))
	changed, err := exec.Command("git", "status", "--porcelain", "--", "wheel", "bench", ":!bench/results").Output()
	if err != nil || len(changed) > 0 {
		name += ", with changes"
	}
	return name
}

// modules returns the versions of what is measured and comes from elsewhere.
func modules() map[string]string {
	versions := map[string]string{}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return versions
	}
	for _, m := range info.Deps {
		if m.Path == "github.com/zeromicro/go-zero" {
			versions[m.Path] = m.Version
		}
	}
	return versions
}
