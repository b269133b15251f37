// Command redis puts Foliot on Redis, asynq and the original design under one load, and writes docs/redis-benchmarks.md. It is run
// from the root of the repository: make bench-redis.
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
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/bench/redis/contender"
	"github.com/foliot/foliot/bench/redis/report"
)

const usage = `usage: make bench-redis [ARGS='flags']      (from the root of the repository; needs redis-server)

Puts ways to have URLs called at a time, with the tasks in Redis, under load, one after the other, and prints what came out:

  the whole set     bench/redis/results/latest.json, docs/redis-benchmarks.md    about 6 minutes
  a part of it      the same files below bin/bench-redis/, and prints where

Let the machine do nothing else meanwhile. Flags:

`

func main() {
	if child.Role() == contender.Role {
		fmt.Fprintln(os.Stderr, child.Serve(new(contender.Node)))
		os.Exit(1)
	}
	switch err := run(os.Args[1:]); {
	case err == nil, errors.Is(err, flag.ErrHelp):
	default:
		fmt.Fprintln(os.Stderr, "bench-redis:", err)
		os.Exit(1)
	}
}

var kinds = []string{report.Create, report.Late, report.Drain, report.Idle}

// settings are the flags.
type settings struct {
	quick, report     bool
	contenders, kinds []string
	foliot            string
	results, docs     string
}

func parse(args []string) (s settings, err error) {
	flags := flag.NewFlagSet("bench-redis", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	var contenders, some string
	flags.BoolVar(&s.quick, "quick", false, "few tasks: about a minute, to see that all works")
	flags.StringVar(&contenders, "contender", "", "only these, with commas between them: "+strings.Join(names(), ", "))
	flags.StringVar(&some, "part", "", "only these parts, with commas between them: "+strings.Join(kinds, ", "))
	flags.StringVar(&s.foliot, "foliot", "bin/foliot", "the binary that is measured")
	flags.StringVar(&s.results, "results", "", "the file of the raw results")
	flags.StringVar(&s.docs, "docs", "", "the folder where redis-benchmarks.md is written")
	flags.BoolVar(&s.report, "report", false, "measure nothing: write docs again, from the raw results")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("%q is not a flag; -help shows them", flags.Arg(0))
	}
	if s.contenders, err = among("contender", contenders, names()); err != nil {
		return s, err
	}
	if s.kinds, err = among("part", some, kinds); err != nil {
		return s, err
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
	for i := range contender.All {
		list = append(list, contender.All[i].Name)
	}
	return list
}

// whole reports whether everything is measured, as it is to be published.
func (s *settings) whole() bool {
	return !s.quick && len(s.contenders) == len(contender.All) && len(s.kinds) == len(kinds)
}

// setDefaults keeps what is only a part away from the published results.
func (s *settings) setDefaults() {
	results, docs := "bench/redis/results/latest.json", "docs"
	if !s.whole() {
		results, docs = "bin/bench-redis/latest.json", "bin/bench-redis"
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
		return r.Write(filepath.Join(s.docs, "redis-benchmarks.md"))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := &report.Run{
		Started: time.Now().UTC().Truncate(time.Second),
		Command: command(args),
		Commit:  commit(),
		Go:      runtime.Version(),
		Modules: modules(),
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
	page := filepath.Join(s.docs, "redis-benchmarks.md")
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
		return errors.New("this is not the root of the repository; there, call: make bench-redis")
	}
	return nil
}

func command(args []string) string {
	if len(args) == 0 {
		return "make bench-redis"
	}
	return fmt.Sprintf("make bench-redis ARGS='%s'", strings.Join(args, " "))
}

// modules names the versions of what is compared.
func modules() map[string]string {
	versions := map[string]string{}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return versions
	}
	for _, m := range info.Deps {
		if slices.Contains([]string{"github.com/hibiken/asynq", "github.com/redis/go-redis/v9", "github.com/redis/rueidis"}, m.Path) {
			versions[m.Path] = m.Version
		}
	}
	return versions
}

// commit names what was measured, and whether the working tree differed from it where it matters.
func commit() string {
	head, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(string(head))
	changed, err := exec.Command("git", "status", "--porcelain", "--", "wheel", "internal", "client", "cmd", "bench/redis", ":!bench/redis/results").Output()
	if err != nil || len(changed) > 0 {
		name += ", with changes"
	}
	return name
}
