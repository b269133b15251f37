package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/task"
)

const (
	// permitRequesters is how many calls may be under way: one that waits for a server that
	// is away must not hold up those to the others.
	permitRequesters = 4
	// askBatch is how many asks a call carries.
	askBatch = 128
	// farewell is how long a stopping dispatcher tries to give its permits back.
	farewell = time.Second
)

// requestPermits starts the permit requesters, where limits are shared. They end with calls.
func (d *Dispatcher) requestPermits(calls context.Context, all *sync.WaitGroup) {
	if d.config.Permits == nil {
		return
	}
	for range permitRequesters {
		all.Go(func() { d.permitRequester(calls) })
	}
	d.config.Permits.WatchPermits(func(scopes []task.PermitScope) {
		d.update(func(task.Millis) { d.planner.HintPermits(scopes) })
	})
}

// permitRequester asks for the permits and tokens that the planner needs.
func (d *Dispatcher) permitRequester(calls context.Context) {
	for {
		select {
		case <-d.asks:
		case <-calls.Done():
			return
		}
		for calls.Err() == nil {
			var leases []*planner.LimitLease
			var asks []task.PermitAsk
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

// granted takes in the replies to asks that were sent at start.
func (d *Dispatcher) granted(calls context.Context, leases []*planner.LimitLease, replies []task.PermitReply, start time.Duration) {
	var failed error
	quiet := false
	d.update(func(now task.Millis) {
		for i, s := range leases {
			if replies[i].Err != nil {
				failed = replies[i].Err
			}
			d.planner.Granted(s, replies[i], start, now)
		}
		quiet = d.planner.Quiet()
	})
	if failed != nil {
		d.logFailure(calls, "ask for a part of limits that nodes share", failed)
	}
	if quiet {
		signal(d.asked)
	}
}

// giveUpPermits waits until everything is given back, for a moment. What is
// not ends with its lease.
func (d *Dispatcher) giveUpPermits() {
	if d.config.Permits == nil {
		return
	}
	d.config.Permits.WatchPermits(nil)
	timeout := time.After(farewell)
	for {
		quiet := false
		d.update(func(task.Millis) { quiet = d.planner.Quiet() })
		if quiet {
			return
		}
		select {
		case <-d.asked:
		case <-timeout:
			return
		}
	}
}
