// Command heartbeat compares ways to end connections without heartbeats, and
// writes docs/heartbeat-benchmarks.md. Run it from the root of the repository:
// make bench-heartbeat.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/heartbeat/contender"
	"github.com/foliot/foliot/bench/heartbeat/report"
	"github.com/foliot/foliot/bench/program"
)

var self = program.Program{
	Name:    "bench-heartbeat",
	Results: "heartbeat.json",
	Page:    "heartbeat-benchmarks.md",
	Usage:   help,
	Sources: []string{"wheel", "idle", "bench/heartbeat"},
}

const help = `usage: make bench-heartbeat [ARGS='flags']      (from the root of the repository)

Lets 100,000 connections send heartbeats, and prints the cost of their timeouts:

  all measurements  bench/results/heartbeat.json, docs/heartbeat-benchmarks.md    about 5 minutes
  some of them      the same files below bin/bench-heartbeat/; their paths are printed

Run nothing else on the machine at the same time. Flags:

`

func main() {
	if child.Role() != "" {
		fmt.Fprintln(os.Stderr, serve())
		os.Exit(1)
	}
	self.Main(run)
}

// serve measures in this process, which has one event loop.
func serve() error {
	runtime.GOMAXPROCS(1)
	return child.Serve(new(contender.Child))
}

// settings are the flags.
type settings struct {
	program.Settings
	contenders []string
}

func parse(args []string) (s settings, err error) {
	flags := self.Flags(&s.Settings, "few connections and one trial: about a minute, to check that everything works")
	var contenders string
	flags.StringVar(&contenders, "contender", "", "measure only these, separated by commas: "+strings.Join(names(), ", "))
	if err := program.Parse(flags, args); err != nil {
		return s, err
	}
	if s.contenders, err = program.Among("contender", contenders, names()); err != nil {
		return s, err
	}
	self.SetDefaults(&s.Settings, !s.Quick && len(s.contenders) == len(contender.All))
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

// plan lists the measurements. Each contender has its first trial before any
// has its second.
func plan(s *settings) (list []contender.Config) {
	trials, c := 3, contender.Config{Connections: 100_000, Rounds: 3}
	if s.Quick {
		trials, c = 1, contender.Config{Connections: 1000, Rounds: 1}
	}
	for range trials {
		for _, c.Contender = range s.contenders {
			list = append(list, c)
		}
	}
	return list
}

func expected(list []contender.Config) (all time.Duration) {
	for i := range list {
		all += list[i].Took()
	}
	return all
}

func measureAll(ctx context.Context, s *settings, r *report.Run, out io.Writer) error {
	list := plan(s)
	progress := program.NewProgress(out, expected(list))
	for i := range list {
		progress.Begin(list[i].Took())
		result, err := measure(ctx, list[i])
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		brief := fmt.Sprintf("%.0f ns for a heartbeat, %.0f ns for the call, %.1f bytes for a connection", result.Each(), result.Call(), result.Bytes)
		if err != nil {
			result.Failed = err.Error()
			brief = "FAILED: " + result.Failed
		}
		r.Results = append(r.Results, result)
		progress.Say("[%d/%d] %-12s %s", i+1, len(list), result.Contender, brief)
	}
	return nil
}

// measure measures in a process of its own.
func measure(ctx context.Context, c contender.Config) (r contender.Result, err error) {
	r.Contender = c.Contender
	p, err := child.Start("meter")
	if err != nil {
		return r, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("it took longer than %v", time.Minute))
	defer cancel()
	err = p.Call(ctx, "Measure", c, &r)
	if end := p.End(); err == nil {
		err = end
	}
	return r, err
}
