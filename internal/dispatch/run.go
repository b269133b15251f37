package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

const (
	// settleLimit is how long Run tries to settle the last outcomes.
	settleLimit = 10 * time.Second
	// abortLimit is how long Run waits for attempts after it has ended their
	// contexts, which only a handler that ignores its context uses up.
	abortLimit = 5 * time.Second
)

// Run delivers until ctx ends. After that it stops claiming, lets the attempts
// under way end within the grace period, cancels the contexts of the other
// attempts, settles all outcomes, and returns nil. It returns an error if the
// store was closed or has failed for good, if outcomes could not be settled, or
// if handlers ignored the end of their contexts. Such a handler keeps its lease
// until the lease expires. When the store fails, the attempts under way are
// aborted at once. Run must be called only once.
func (d *Dispatcher) Run(ctx context.Context) error {
	stopping, stop := context.WithCancel(ctx)
	defer stop()
	if !d.start(stop) {
		return errors.New("Run was called before: open the store again")
	}
	// The store's calls outlive ctx.
	calls, endCalls := context.WithCancel(context.WithoutCancel(ctx))
	defer endCalls()
	attempts, abort := context.WithCancelCause(calls)
	defer abort(nil)

	// The early goroutines stop with ctx, while the late ones stay until the
	// attempts have ended.
	var early, late sync.WaitGroup
	early.Go(func() { d.claimer(stopping, calls, attempts) })
	early.Go(func() { d.firer(stopping, calls) })
	early.Go(func() { d.poller(stopping) })
	early.Go(func() { d.janitor(stopping) })
	early.Go(func() { d.scrubber(stopping) })
	late.Go(func() { d.renewer(calls) })
	d.requestPermits(calls, &late)
	settled := make(chan struct{})
	late.Go(func() { defer close(settled); d.settler(calls) })

	unwatch := d.queue.Watch(store.Watcher{Tasks: d.hint})
	<-stopping.Done()
	unwatch()
	early.Wait()
	close(d.starting)
	d.update(func(task.Millis) { d.planner.Stop() })
	d.awaitAttempts(abort)
	d.outcomes <- nil
	select {
	case <-settled:
	case <-time.After(settleLimit):
	}
	d.returnPermits()
	endCalls()
	late.Wait()
	d.timers.Close()
	d.leases.Close()
	return d.result()
}

func (d *Dispatcher) start(stop context.CancelFunc) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.started {
		return false
	}
	d.started, d.stop = true, stop
	return true
}

// awaitAttempts waits until all attempts have returned. After the grace period
// it ends their contexts, and then it waits at most abortLimit.
func (d *Dispatcher) awaitAttempts(abort context.CancelCauseFunc) {
	ended := make(chan struct{})
	go func() { d.running.Wait(); close(ended) }()
	grace := max(d.config.Grace, 0)
	if d.failure() != nil {
		grace = 0 // no outcome can be settled any more
	}
	select {
	case <-ended:
		return
	case <-time.After(grace):
	}
	abort(ErrStopped)
	select {
	case <-ended:
	case <-time.After(abortLimit):
	}
}

// result returns the result of Run.
func (d *Dispatcher) result() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	running := 0
	for a := range d.held {
		if !a.over.Load() {
			running++
		}
	}
	switch n := len(d.held); {
	case d.failed != nil:
		return fmt.Errorf("dispatch: the store is closed: %w", d.failed)
	case running > 0:
		return fmt.Errorf("dispatch: %d handlers still run although their contexts have ended: make them return when that happens; their tasks will be tried again when their leases are reaped", running)
	case n > 0:
		return fmt.Errorf("dispatch: %d attempts could not be settled before the end; their tasks will be tried again when their leases are reaped", n)
	}
	return nil
}
