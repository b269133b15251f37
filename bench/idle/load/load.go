// Package load runs one guard under load: a server process, and processes with
// its peers.
package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/idle/client"
	"github.com/foliot/foliot/bench/idle/guard"
	"github.com/foliot/foliot/bench/idle/server"
	"github.com/foliot/foliot/bench/idle/verdict"
	"github.com/foliot/foliot/bench/record"
)

// addresses is the number of addresses at which the server listens.
const addresses = 8

// The names of values, besides those of package record and of verdicts. The
// server has them while all connections are open, unless they say otherwise.
const (
	Stalls       = "stalls"     // of the guard
	MessageNanos = "message_ns" // CPU of the server, in the median part of the window
	Messages     = "messages"   // until the peers leave, as CPUMs
	Goroutines   = "goroutines"
	Heap         = "heap_bytes"
	Stack        = "stack_bytes"
	Before       = "descriptors_before" // the first connection
	Peak         = "descriptors"
	After        = "descriptors_after" // the last connection
)

// Run runs the load on a guard. It calls say for each step.
func Run(ctx context.Context, name string, shape *Shape, say func(step string)) (record.Values, error) {
	run := &run{shape: shape, say: say, guard: name, values: record.Values{}}
	err := run.do(ctx)
	return run.values, errors.Join(err, run.end())
}

// run is the state of Run. One goroutine owns it.
type run struct {
	shape  *Shape
	say    func(string)
	guard  string
	values record.Values

	server  *child.Process
	clients []*child.Process // the last one is frozen
}

func (r *run) do(ctx context.Context) error {
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"open", r.open}, {"measure", r.measure}, {"silence", r.silence}, {"leave", r.leave},
	} {
		r.say(step.name)
		if err := step.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// open starts all processes and all connections.
func (r *run) open(ctx context.Context) (err error) {
	if r.server, err = child.Start("server"); err != nil {
		return err
	}
	var at []string
	config := server.Config{Guard: r.guard, Timeout: r.shape.Timeout, Addresses: addresses}
	if err := r.server.Call(ctx, "Open", config, &at); err != nil {
		return err
	}
	before, err := r.sample(ctx, false)
	if err != nil {
		return err
	}
	r.values[Before] = float64(before.Descriptors)
	configs := r.shape.clients(at)
	for range configs {
		c, err := child.Start("client")
		if err != nil {
			return err
		}
		r.clients = append(r.clients, c)
	}
	opened := r.each(func(i int, c *child.Process) error {
		return c.Call(ctx, "Open", configs[i], new(struct{}))
	})
	_, err = r.sample(ctx, false) // if the guard refused a connection, the server knows why
	return errors.Join(err, opened)
}

// each calls all clients at the same time.
func (r *run) each(ask func(int, *child.Process) error) error {
	failures := make([]error, len(r.clients))
	var wg sync.WaitGroup
	for i, c := range r.clients {
		wg.Go(func() { failures[i] = ask(i, c) })
	}
	wg.Wait()
	return errors.Join(failures...)
}

func (r *run) sample(ctx context.Context, collected bool) (s server.Sample, err error) {
	return s, r.server.Call(ctx, "Sample", collected, &s)
}

// rest waits.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// measure measures the server while all peers talk.
func (r *run) measure(ctx context.Context) error {
	// Each peer has talked once, so each handler's stack has its final size.
	if err := rest(ctx, r.shape.Settle+r.shape.Every); err != nil {
		return err
	}
	last, err := r.sample(ctx, true)
	if err != nil {
		return err
	}
	if last.Open != r.shape.Connections {
		return fmt.Errorf("%d of %d connections are open", last.Open, r.shape.Connections)
	}
	r.values[Goroutines], r.values[Peak] = float64(last.Goroutines), float64(last.Descriptors)
	r.values[Heap], r.values[Stack] = float64(last.Heap), float64(last.Stack)
	if last, err = r.sample(ctx, false); err != nil {
		return err
	}
	var costs []float64
	for range partsOfWindow {
		if err := rest(ctx, r.shape.Window/partsOfWindow); err != nil {
			return err
		}
		next, err := r.sample(ctx, false)
		if err != nil {
			return err
		}
		if next.Messages == last.Messages {
			return errors.New("nothing was said while it was measured")
		}
		costs = append(costs, float64(next.CPU-last.CPU)/float64(next.Messages-last.Messages))
		last = next
	}
	slices.Sort(costs)
	r.values[MessageNanos] = (costs[partsOfWindow/2-1] + costs[partsOfWindow/2]) / 2
	return nil
}

// silence makes the peers fall silent, and collects their fates.
func (r *run) silence(ctx context.Context) error {
	info, err := record.Find(guard.All, r.guard)
	if err != nil {
		return err
	}
	frozen := r.clients[len(r.clients)-1]
	err = r.each(func(_ int, c *child.Process) error { return c.Call(ctx, "Hush", r.shape.Spread, new(struct{})) })
	if err != nil {
		return err
	}
	if err := frozen.Freeze(); err != nil {
		return fmt.Errorf("freeze a client: %w", err)
	}
	if err := rest(ctx, r.shape.silence()); err != nil {
		return err
	}
	end, err := r.sample(ctx, false)
	if err != nil {
		return err
	}
	r.values[record.CPUMs] = float64(end.CPU) / float64(time.Millisecond)
	r.values[Messages], r.values[Stalls] = float64(end.Messages), float64(end.Stalls)
	var endings []server.Ending
	if err := r.server.Call(ctx, "Endings", struct{}{}, &endings); err != nil {
		return err
	}
	if err := frozen.Thaw(); err != nil {
		return fmt.Errorf("thaw a client: %w", err)
	}
	seen, err := r.observe(ctx)
	if err != nil {
		return err
	}
	rule := verdict.Rule{
		Timeout: r.shape.Timeout, Slack: info.Slack(r.shape.Timeout), Allowance: r.shape.Allowance, Pongs: info.Pongs, Writes: info.Writes,
	}
	rule.Count(verdict.Cases(seen, endings), r.values)
	return nil
}

func (r *run) observe(ctx context.Context) (all []client.Observation, err error) {
	seen := make([][]client.Observation, len(r.clients))
	err = r.each(func(i int, c *child.Process) error { return c.Call(ctx, "Observe", struct{}{}, &seen[i]) })
	for _, part := range seen {
		all = append(all, part...)
	}
	return all, err
}

// leave ends the clients, and waits until the server has closed its side.
func (r *run) leave(ctx context.Context) error {
	if err := r.endClients(); err != nil {
		return err
	}
	const tries, pause = 100, 100 * time.Millisecond
	var s server.Sample
	for range tries {
		var err error
		if s, err = r.sample(ctx, false); err != nil {
			return err
		}
		if s.Open == 0 && float64(s.Descriptors) <= r.values[Before] {
			break
		}
		if err := rest(ctx, pause); err != nil {
			return err
		}
	}
	r.values[After] = float64(s.Descriptors)
	return r.server.Call(ctx, "Shut", struct{}{}, new(struct{}))
}

func (r *run) endClients() error {
	err := r.each(func(_ int, c *child.Process) error { return c.End() })
	r.clients = nil
	return err
}

// end ends all processes.
func (r *run) end() error {
	err := r.endClients()
	if r.server != nil {
		err = errors.Join(err, r.server.End())
	}
	return err
}
