// Command heartbeat compares ways to end connections without heartbeats, and
// writes docs/heartbeat-benchmarks.md. Run it from the root of the repository:
// make bench-heartbeat.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/heartbeat/contender"
	"github.com/foliot/foliot/bench/program"
	"github.com/foliot/foliot/bench/record"
)

//go:embed heartbeat-benchmarks.md.tmpl
var template string

var self = program.Program{
	Name:       "bench-heartbeat",
	Results:    "heartbeat.json",
	Page:       "heartbeat-benchmarks.md",
	What:       "Lets 100,000 connections send a heartbeat every 30 s, and prints the cost of their timeouts:",
	Took:       "11 minutes",
	Sources:    []string{"wheel", "idle", "bench/heartbeat"},
	Contenders: record.Contenders(contender.All),
	Parts:      []string{part},
	Measure:    measureAll,
	Template:   template,
	Columns:    columns,
	Extra:      extra,
}

// part is the only part of a run.
const part = "heartbeats"

func main() {
	serve()
	self.Main()
}

// serve measures in a child process, which has one event loop.
func serve() {
	if child.Role() != "" {
		runtime.GOMAXPROCS(1)
	}
	child.Main(map[string]any{"meter": new(contender.Child)})
}

// size is the size of the run: -quick makes it smaller.
type size struct {
	trials, connections, calls int
	timeout                    time.Duration
}

func sizeOf(s *program.Settings) size {
	if s.Quick {
		return size{1, 1000, 1000, time.Second}
	}
	return size{3, 100_000, 600_000, time.Minute}
}

func measureAll(ctx context.Context, s *program.Settings, r *record.Run, out io.Writer) error {
	size := sizeOf(s)
	each := (&contender.Config{Timeout: size.timeout}).Took()
	progress := program.NewProgress(out, time.Duration(size.trials)*each)
	for trial := range size.trials {
		progress.Begin(each)
		progress.Say("trial %d of %d: %d contenders at the same time", trial+1, size.trials, len(s.Contenders))
		for _, m := range measure(ctx, s.Contenders, size) {
			result := record.Result{Job: record.Job{Part: part, Contender: m.name, N: size.connections, Trial: trial + 1}}
			result.Values = m.values
			if m.err != nil {
				result.Failed = m.err.Error()
			}
			r.Results = append(r.Results, result)
			fmt.Fprintf(out, "  %-12s %v %s\n", m.name, m.values, result.Failed)
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
	name   string
	values record.Values
	err    error // the first; then it makes no more calls
}

func (m *meter) call(ctx context.Context, method string, args any) {
	if m.err == nil {
		m.err = m.Call(ctx, method, args, &m.values)
	}
}

// measure measures each contender in a process of its own. Heartbeats at their
// true speed leave the processor idle nearly all the time, so the processes run
// at the same time, and only the calls without pauses one after another.
func measure(ctx context.Context, contenders []string, size size) []meter {
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
		all[i].name = contenders[i]
		all[i].Process, all[i].err = child.Start("meter")
	}
	each(func(m *meter) {
		m.call(ctx, "Beat", contender.Config{Contender: m.name, Connections: size.connections, Timeout: size.timeout})
	})
	for i := range all {
		all[i].call(ctx, "Calls", size.calls)
	}
	each(func(m *meter) {
		m.call(ctx, "Silence", 2*size.timeout)
		if m.Process != nil {
			m.err = errors.Join(m.err, m.End())
		}
	})
	return all
}
