package dispatch

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/wheel"
)

const (
	// maxPause bounds how long a Retry-After holds a whole destination
	// back; the task itself waits as its own retry policy says.
	maxPause = time.Hour
	// unsentPause is how long a destination rests when nothing could be sent, for a
	// reason of ours: without it the task, due at once, would spin.
	unsentPause = 250 * time.Millisecond
)

// attempt is one claim and what follows from it.
type attempt struct {
	planner.Pick
	token task.Token

	refused error // why the claim was not granted
	odd     bool  // it was refused for a reason that no task has that is well
	apart   bool  // its part of the store is away: it may have been granted all the same
	lapsed  bool  // it was, and the lease of its permits, or its token, had ended
	task    *task.Task
	outcome task.Outcome

	// leaseEnd is when the lease ends, by the monotonic clock. The claimer and
	// the renewer write it, Live reads it from the attempt's goroutine; the one
	// word is all they share.
	leaseEnd atomic.Int64

	// Each is set once, and read as a word of its own by whoever comes later.
	lost atomic.Bool // by the renewer: the store says that the lease is not ours
	over atomic.Bool // by who ends the attempt: what remains is its settlement

	ctx    context.Context // of the attempt: ends when it is to be given up
	cancel context.CancelCauseFunc
	timer  wheel.ID      // on the wheel of leases
	armed  time.Duration // when this was set up, by the monotonic clock
}

// claimed takes in the reply to a claim that was sent at start, when it was
// now by the wall clock.
func (a *attempt) claimed(r task.Reply, start time.Duration, now task.Millis) {
	a.refused, a.task, a.apart = r.Err, r.Task, errors.Is(r.Err, task.ErrUnavailable)
	if r.Err == nil {
		a.extended(start, r.Task.Lease.Until.Sub(now))
	}
}

// extended notes that the lease holds for that long after start.
func (a *attempt) extended(start, holds time.Duration) { a.leaseEnd.Store(int64(start + holds)) }

func (a *attempt) left(monotonic time.Duration) time.Duration {
	return time.Duration(a.leaseEnd.Load()) - monotonic
}

// arm gives a claimed attempt its context, which ends before its lease does.
func (d *Dispatcher) arm(parent context.Context, a *attempt) {
	a.ctx, a.cancel = context.WithCancelCause(parent)
	a.armed = d.monotonic()
	a.timer = d.leases.Add(a.left(a.armed)-d.config.guard(), a)
}

// attempt is the goroutine of one delivery.
func (d *Dispatcher) attempt(a *attempt) {
	d.end(a, d.deliver(a.ctx, task.Delivery{
		Task:   a.task,
		Number: a.task.Tries,
		Live:   func() error { return d.live(a) },
	}))
}

// end hands an outcome to the settler.
func (d *Dispatcher) end(a *attempt, o task.Outcome) {
	o.GaveWay = o.Verdict == task.Interrupted && errors.Is(context.Cause(a.ctx), ErrQuarantineTurn)
	o.Barred = a.Barred
	a.outcome = o
	a.over.Store(true)
	d.leases.Remove(a.timer)
	a.cancel(nil)
	switch o.Verdict {
	case task.Deferral:
		d.update(func(now task.Millis) { d.planner.Slow(&a.Pick, now, a.wish()) })
	case task.Unsent:
		d.update(func(now task.Millis) { d.planner.Rest(&a.Pick, now, unsentPause) })
	}
	d.outcomes <- a
}

// live is asked right before a request is written.
func (d *Dispatcher) live(a *attempt) error {
	if a.lost.Load() || a.left(d.monotonic()) <= d.config.guard() {
		return ErrLeaseLost
	}
	if !a.Permitted(d.monotonic()) {
		return ErrPermitLost
	}
	return nil
}

// evidence returns what the outcome says about the receiver. A status of 500
// or more speaks of the receiver, others of the request; but one that asks for
// patience is a reply like any other.
func (a *attempt) evidence() planner.Evidence {
	o := a.outcome
	switch {
	case o.Verdict == task.Unsent:
		return planner.Unsent
	case o.Verdict == task.Failure && o.Status == 0:
		return planner.Silent
	case o.Verdict == task.Failure && o.Status >= 500:
		return planner.Failing
	case o.Verdict == task.Deferral:
		return planner.Deferred
	case o.Status != 0:
		return planner.Replied
	}
	return planner.Nothing
}

// wish returns for how long the receiver wants nothing, after a Deferral. It is
// never longer than the task itself waits, so that one task of a namespace
// cannot stop the others for longer than it is stopped itself.
func (a *attempt) wish() time.Duration {
	r := a.task.Retry
	return min(a.outcome.RetryAfter, max(r.MaxBackoff, r.MinBackoff), maxPause)
}
