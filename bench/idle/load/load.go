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
	"github.com/foliot/foliot/bench/metric"
)

// addresses is the number of addresses at which the server listens.
const addresses = 8

// Stalls is the name of the number of stalls of the guard.
const Stalls = "stalls"

// Run runs the load on a guard.
func Run(ctx context.Context, name string, shape *Shape) (metric.Values, error) {
	run := &run{shape: shape, guard: name, values: metric.Values{}}
	err := run.do(ctx)
	return run.values, errors.Join(err, run.end())
}

// run is the state of Run. One goroutine owns it.
type run struct {
	shape  *Shape
	guard  string
	values metric.Values

	server  *child.Process
	clients []*child.Process // the last one is frozen
}

func (r *run) do(ctx context.Context) error {
	for _, step := range []func(context.Context) error{r.open, r.measure, r.silence, r.leave} {
		if err := step(ctx); err != nil {
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
	r.values[metric.Bytes] = float64(last.Heap+last.Stack) / float64(r.shape.Connections)
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
		costs = append(costs, metric.Micros(next.CPU-last.CPU)/float64(next.Messages-last.Messages))
		last = next
	}
	slices.Sort(costs)
	r.values["message_us"] = (costs[partsOfWindow/2-1] + costs[partsOfWindow/2]) / 2
	return nil
}

// silence makes the peers fall silent, and collects their fates.
func (r *run) silence(ctx context.Context) error {
	info, err := guard.Find(r.guard)
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
	r.values[Stalls] = float64(end.Stalls)
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

// leave ends the clients, and stops the server.
func (r *run) leave(ctx context.Context) error {
	if err := r.endClients(); err != nil {
		return err
	}
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
