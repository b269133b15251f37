// Package load runs one guard under load: a server process, and processes with
// its peers.
package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/idle/client"
	"github.com/foliot/foliot/bench/idle/guard"
	"github.com/foliot/foliot/bench/idle/server"
	"github.com/foliot/foliot/bench/idle/verdict"
)

// addresses is the number of addresses at which the server listens.
const addresses = 8

// Result is the result of one guard.
type Result struct {
	Guard       string           `json:"guard"`
	Connections int              `json:"connections"`
	Counters    verdict.Counters `json:"tally"`
	Stalls      int              `json:"stalls"` // stalls of the guard

	PerMessage []float64     `json:"per_message"` // CPU of the server, in nanoseconds, for each part of the window
	CPU        time.Duration `json:"cpu"`         // CPU of the server until the peers leave
	Messages   int64         `json:"messages"`    // until the peers leave

	Goroutines int   `json:"goroutines"` // of the server, while all connections are open
	Heap       int64 `json:"heap"`       // bytes in use, while all connections are open
	Stack      int64 `json:"stack"`

	Before int `json:"before"` // descriptors of the server: before the first connection
	Peak   int `json:"peak"`   // while all connections are open
	After  int `json:"after"`  // after the last connection

	Took   time.Duration `json:"took"`
	Failed string        `json:"failed,omitempty"`
}

// Run runs the load. It calls say for each step.
func Run(ctx context.Context, name string, shape *Shape, say func(step string)) (r Result) {
	start := time.Now()
	run := &run{shape: shape, say: say, result: Result{Guard: name, Connections: shape.Connections}}
	err := run.do(ctx)
	if err = errors.Join(err, run.end()); err != nil {
		run.result.Failed = err.Error()
	}
	run.result.Took = time.Since(start)
	return run.result
}

// run is the state of Run. One goroutine owns it.
type run struct {
	shape  *Shape
	say    func(string)
	result Result

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
	config := server.Config{Guard: r.result.Guard, Timeout: r.shape.Timeout, Addresses: addresses}
	if err := r.server.Call(ctx, "Open", config, &at); err != nil {
		return err
	}
	before, err := r.sample(ctx, false)
	if err != nil {
		return err
	}
	r.result.Before = before.Descriptors
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
	r.result.Goroutines, r.result.Peak = last.Goroutines, last.Descriptors
	r.result.Heap, r.result.Stack = last.Heap, last.Stack
	if last, err = r.sample(ctx, false); err != nil {
		return err
	}
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
		r.result.PerMessage = append(r.result.PerMessage, float64(next.CPU-last.CPU)/float64(next.Messages-last.Messages))
		last = next
	}
	return nil
}

// silence makes the peers fall silent, and collects their fates.
func (r *run) silence(ctx context.Context) error {
	info, err := guard.Find(r.result.Guard)
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
	r.result.CPU, r.result.Messages, r.result.Stalls = end.CPU, end.Messages, end.Stalls
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
	r.result.Counters = rule.Count(verdict.Cases(seen, endings))
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
		if s.Open == 0 && s.Descriptors <= r.result.Before {
			break
		}
		if err := rest(ctx, pause); err != nil {
			return err
		}
	}
	r.result.After = s.Descriptors
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
