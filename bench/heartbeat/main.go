// Command heartbeat compares ways to end connections without heartbeats, and
// writes docs/heartbeat-benchmarks.md. Run it from the root of the repository:
// make bench-heartbeat.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
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

Lets 100,000 connections send a heartbeat every 30 s, and prints the cost of their timeouts:

  all measurements  bench/results/heartbeat.json, docs/heartbeat-benchmarks.md    about 11 minutes
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
	flags := self.Flags(&s.Settings, "few connections, short timeouts and one trial: some seconds, to check that everything works")
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

// size is the size of the run: -quick makes it smaller.
type size struct {
	trials, connections, calls int
	timeout                    time.Duration
}

func (s *settings) size() size {
	if s.Quick {
		return size{1, 1000, 1000, time.Second}
	}
	return size{3, 100_000, 600_000, time.Minute}
}

func measureAll(ctx context.Context, s *settings, r *report.Run, out io.Writer) error {
	size := s.size()
	each := (&contender.Config{Timeout: size.timeout}).Took()
	progress := program.NewProgress(out, time.Duration(size.trials)*each)
	for trial := range size.trials {
		progress.Begin(each)
		progress.Say("trial %d of %d: %d contenders at the same time", trial+1, size.trials, len(s.contenders))
		for _, result := range measure(ctx, s.contenders, size) {
			brief := fmt.Sprintf("%.0f ns for a heartbeat, %.0f ns for the call, %.1f bytes for a connection", result.Each(), result.Call(), result.Bytes)
			if result.Failed != "" {
				brief = "FAILED: " + result.Failed
			}
			r.Results = append(r.Results, result)
			fmt.Fprintf(out, "  %-12s %s\n", result.Contender, brief)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// meter is a process that measures a contender.
type meter struct {
	*child.Process
	result contender.Result
	err    error // the first; then it makes no more calls
}

func (m *meter) call(ctx context.Context, method string, args any) {
	if m.err == nil {
		m.err = m.Call(ctx, method, args, &m.result)
	}
}

// measure measures each contender in a process of its own. Heartbeats at their
// true speed leave the processor idle nearly all the time, so the processes run
// at the same time, and only the calls without pauses one after another.
func measure(ctx context.Context, contenders []string, size size) (results []contender.Result) {
	ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Minute, errors.New("it took longer than 10 minutes"))
	defer cancel()
	all := make([]meter, len(contenders))
	each := func(f func(m *meter)) {
		var group sync.WaitGroup
		for i := range all {
			group.Go(func() { f(&all[i]) })
		}
		group.Wait()
	}
	for i := range all {
		all[i].Process, all[i].err = child.Start("meter")
		all[i].result.Contender = contenders[i]
	}
	each(func(m *meter) {
		m.call(ctx, "Beat", contender.Config{Contender: m.result.Contender, Connections: size.connections, Timeout: size.timeout})
	})
	for i := range all {
		all[i].call(ctx, "Calls", size.calls)
	}
	each(func(m *meter) {
		m.call(ctx, "Silence", 2*size.timeout)
		if m.Process != nil {
			if end := m.End(); m.err == nil {
				m.err = end
			}
		}
	})
	for i := range all {
		if m := &all[i]; m.err != nil {
			m.result.Failed = m.err.Error()
		}
		results = append(results, all[i].result)
	}
	return results
}
