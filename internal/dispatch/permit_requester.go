package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

const (
	// permitRequesters is how many calls can be under way, because one that waits
	// for an unavailable server must not delay calls to the other servers.
	permitRequesters = 4
	// askBatch is how many requests one call carries.
	askBatch = 128
	// returnTimeout is how long a stopping dispatcher tries to give its permits
	// back.
	returnTimeout = time.Second
)

// requestPermits starts the permit requesters, which end with calls, if limits are
// shared.
func (d *Dispatcher) requestPermits(calls context.Context, all *sync.WaitGroup) {
	if d.config.Permits == nil {
		return
	}
	for range permitRequesters {
		all.Go(func() { d.permitRequester(calls) })
	}
	d.unwatchPermits = d.queue.Watch(store.Watcher{Permits: func(scopes []store.PermitScope) {
		d.update(func(task.Millis) { d.planner.HintPermits(scopes) })
	}})
}

// permitRequester requests the permits and tokens that the planner needs.
func (d *Dispatcher) permitRequester(calls context.Context) {
	for {
		select {
		case <-d.asks:
		case <-calls.Done():
			return
		}
		for calls.Err() == nil {
			var leases []*planner.LimitLease
			var asks []store.PermitAsk
			d.update(func(now task.Millis) { leases, asks = d.planner.Asks(now, askBatch) })
			if len(asks) == 0 {
				break
			}
			start := d.monotonic()
			replies := d.config.Permits.Permit(calls, asks)
			d.granted(calls, leases, replies, start)
		}
	}
}

// granted applies the replies to requests that were sent at start.
func (d *Dispatcher) granted(calls context.Context, leases []*planner.LimitLease, replies []store.PermitReply, start time.Duration) {
	var failed error
	quiet := false
	d.update(func(task.Millis) {
		for i, l := range leases {
			if replies[i].Err != nil {
				failed = replies[i].Err
			}
			d.planner.Granted(l, replies[i], start)
		}
		quiet = d.planner.Quiet()
	})
	if failed != nil {
		d.logFailure(calls, "request permits of a shared limit", failed)
	}
	if quiet {
		signal(d.quiet)
	}
}

// returnPermits waits briefly until all permits are returned; any that remain end
// with their leases.
func (d *Dispatcher) returnPermits() {
	if d.config.Permits == nil {
		return
	}
	d.unwatchPermits()
	timeout := time.After(returnTimeout)
	for {
		quiet := false
		d.update(func(task.Millis) { quiet = d.planner.Quiet() })
		if quiet {
			return
		}
		select {
		case <-d.quiet:
		case <-timeout:
			return
		}
	}
}
