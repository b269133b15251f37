// Command idle puts package idle and the usual ways to find idle connections under one load, and writes docs/idle-benchmarks.md. It is
// run from the root of the repository: make bench-idle.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/idle/activity"
	"github.com/foliot/foliot/bench/idle/client"
	"github.com/foliot/foliot/bench/idle/guard"
	"github.com/foliot/foliot/bench/idle/report"
	"github.com/foliot/foliot/bench/idle/server"
	"github.com/foliot/foliot/bench/idle/virtual"
	"github.com/foliot/foliot/bench/record"
)

const usage = `usage: make bench-idle [ARGS='flags']      (from the root of the repository)

Puts ways to close idle connections under load, one after the other, and prints what came out:

  the whole set     bench/idle/results/latest.json, docs/idle-benchmarks.md    about 10 minutes
  a part of it      the same files below bin/bench-idle/, and prints where

Let the machine do nothing else meanwhile. Flags:

`

func main() {
	if role := child.Role(); role != "" {
		fmt.Fprintln(os.Stderr, serve(role))
		os.Exit(1)
	}
	switch err := run(os.Args[1:]); {
	case err == nil, errors.Is(err, flag.ErrHelp):
	default:
		fmt.Fprintln(os.Stderr, "bench-idle:", err)
		os.Exit(1)
	}
}

// serve is what a child does.
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
	return fmt.Errorf("there is no role %q", role)
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
	quick, report bool
	n             int
	guards, parts []string
	results, docs string
}

func parse(args []string) (s settings, err error) {
	flags := flag.NewFlagSet("bench-idle", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	var guards, some string
	flags.BoolVar(&s.quick, "quick", false, "few connections and short timeouts: less than a minute, to see that all works")
	flags.IntVar(&s.n, "n", 0, "how many connections (default: as many as the machine allows, with -quick 1000)")
	flags.StringVar(&guards, "guard", "", "only these guards, with commas between them: "+strings.Join(names(), ", "))
	flags.StringVar(&some, "part", "", "only these parts, with commas between them: "+strings.Join(parts, ", "))
	flags.StringVar(&s.results, "results", "", "the file of the raw results")
	flags.StringVar(&s.docs, "docs", "", "the folder where idle-benchmarks.md is written")
	flags.BoolVar(&s.report, "report", false, "measure nothing: write docs again, from the raw results")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("%q is not a flag; -help shows them", flags.Arg(0))
	}
	if s.guards, err = among("guard", guards, names()); err != nil {
		return s, err
	}
	if s.parts, err = among("part", some, parts); err != nil {
		return s, err
	}
	if s.n < 0 || s.n > 0 && s.n < 50 {
		return s, fmt.Errorf("-n: %d connections are too few: at least 50", s.n)
	}
	s.setDefaults()
	return s, nil
}

// among returns the words of a list, or all if there are none.
func among(flag, list string, known []string) ([]string, error) {
	words := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	for _, w := range words {
		if !slices.Contains(known, w) {
			return nil, fmt.Errorf("-%s: there is no %q; there are %s", flag, w, strings.Join(known, ", "))
		}
	}
	if len(words) == 0 {
		return known, nil
	}
	return slices.DeleteFunc(slices.Clone(known), func(w string) bool { return !slices.Contains(words, w) }), nil
}

func names() (list []string) {
	for i := range guard.All {
		list = append(list, guard.All[i].Name)
	}
	return list
}

// whole reports whether everything is measured, as it is to be published.
func (s *settings) whole() bool {
	return !s.quick && s.n == 0 && len(s.guards) == len(guard.All) && len(s.parts) == len(parts)
}

// setDefaults keeps what is only a part away from the published results.
func (s *settings) setDefaults() {
	results, docs := "bench/idle/results/latest.json", "docs"
	if !s.whole() {
		results, docs = "bin/bench-idle/latest.json", "bin/bench-idle"
	}
	if s.results == "" {
		s.results = results
	}
	if s.docs == "" {
		s.docs = docs
	}
}

func run(args []string) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	if err := atRoot(); err != nil {
		return err
	}
	if s.report {
		r, err := report.Load(s.results)
		if err != nil {
			return err
		}
		return r.Write(filepath.Join(s.docs, "idle-benchmarks.md"))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := &report.Run{
		Started: time.Now().UTC().Truncate(time.Second),
		Command: command(args),
		Commit:  commit(),
		Go:      runtime.Version(),
		Machine: record.ThisMachine(),
	}
	if err := measureAll(ctx, &s, r, os.Stderr); err != nil {
		return err
	}
	r.Took = time.Since(r.Started).Round(time.Second).Seconds()
	r.Complete = s.whole()
	fmt.Print(r.Tables())
	return publish(&s, r)
}

func publish(s *settings, r *report.Run) error {
	for _, dir := range []string{filepath.Dir(s.results), s.docs} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make the folder of the results: %w", err)
		}
	}
	page := filepath.Join(s.docs, "idle-benchmarks.md")
	if err := errors.Join(r.Save(s.results), r.Write(page)); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "written: %s, %s\n", s.results, page)
	return r.Err()
}

// atRoot fails where the files would be written to the wrong place.
func atRoot() error {
	data, err := os.ReadFile("go.mod")
	if err != nil || !strings.HasPrefix(string(data), "module github.com/foliot/foliot\n") {
		return errors.New("this is not the root of the repository; there, call: make bench-idle")
	}
	return nil
}

func command(args []string) string {
	if len(args) == 0 {
		return "make bench-idle"
	}
	return fmt.Sprintf("make bench-idle ARGS='%s'", strings.Join(args, " "))
}

// commit names what was measured, and whether the working tree differed from it where it matters.
func commit() string {
	head, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(string(head))
	changed, err := exec.Command("git", "status", "--porcelain", "--", "wheel", "idle", "bench/idle", ":!bench/idle/results").Output()
	if err != nil || len(changed) > 0 {
		name += ", with changes"
	}
	return name
}
