package dispatch

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/wheel"
)

const (
	// maxPause bounds how long a Retry-After delays a whole destination, while
	// the task itself waits as long as its own retry policy allows.
	maxPause = time.Hour
	// unsentPause is how long a destination rests after a request could not be
	// sent for a local reason, because its task is due at once and would
	// otherwise spin.
	unsentPause = 250 * time.Millisecond
)

// attempt is one claim and everything that follows from it.
type attempt struct {
	planner.Pick
	token task.Token

	refused     error // why the claim was not granted; nil means that it was granted
	unexpected  bool  // it was refused with an error that no healthy task can get
	unavailable bool  // its shard of the store is unavailable
	unclear     bool  // its claim was not granted, and may have taken a lease all the same
	permitLost  bool  // it was granted, but the lease of its permits, or of its token, had ended
	task        *task.Task
	outcome     task.Outcome

	// leaseEnd is the end of the lease on the monotonic clock. The claimer and
	// the renewer write it, and live reads it from the attempt's goroutine.
	// They share only this word.
	leaseEnd atomic.Int64

	// Each of these is set once, and other goroutines may read it later without
	// a lock.
	lost atomic.Bool // set by the renewer: the store replied that the lease is not ours
	// completed is set by the handler: the record, if its transaction commits.
	completed atomic.Pointer[task.Task]
	over      atomic.Bool // set by end: only the settlement remains

	ctx    context.Context // the context of the attempt: it ends when the attempt must be interrupted
	cancel context.CancelCauseFunc
	timer  wheel.ID      // on the wheel of leases
	armed  time.Duration // when arm was called, on the monotonic clock
	begun  func()        // called when its goroutine runs

	// These are guarded by Dispatcher.mu.
	hung     bool // the renewer has found that the handler hangs
	renewNow bool // the task may have been cancelled: only the store knows
}

// claimed applies the reply to a claim. start is when the claim was sent, by
// the monotonic clock, and now is the same moment by the wall clock. If an
// earlier call with the claim failed, and the task runs now, that call may have
// taken the lease: the task was replaced between the two calls, so an attempt
// of the old task must not begin.
func (a *attempt) claimed(r store.Reply, start time.Duration, now task.Millis, repeated bool) {
	a.refused, a.task, a.unavailable = r.Err, r.Task, errors.Is(r.Err, task.ErrUnavailable)
	var state *task.StateError
	a.unclear = a.unavailable || repeated && errors.As(r.Err, &state) && state.Code == task.CodeRunning
	if r.Err == nil {
		a.extended(start, r.Task.Lease.Until.Sub(now))
	}
}

// extended records that the lease holds until the duration holds after start.
func (a *attempt) extended(start, holds time.Duration) { a.leaseEnd.Store(int64(start + holds)) }

// runsHandler reports whether the granted attempt calls a handler, not a URL.
func (a *attempt) runsHandler() bool { return a.task.Request.Kind != "" }

func (a *attempt) left(monotonic time.Duration) time.Duration {
	return time.Duration(a.leaseEnd.Load()) - monotonic
}

// arm gives a claimed attempt its context, which ends before the lease does.
func (d *Dispatcher) arm(parent context.Context, a *attempt) {
	a.ctx, a.cancel = context.WithCancelCause(parent)
	a.armed = d.monotonic()
	a.timer, _ = d.leases.Add(a.left(a.armed)-d.config.guard(), a) // no limit, and closed after the last attempt
}

// maxWaiting is how many goroutines wait for their next attempt.
const maxWaiting = 256

// begin runs an attempt on a goroutine that waits for one, or on a new one. The
// stack of a new goroutine must grow during its first attempt, which takes about
// a tenth of the processor time of a delivery.
func (d *Dispatcher) begin(a *attempt) {
	select {
	case d.starting <- a:
	default:
		d.running.Go(func() { d.runAttempts(a) })
	}
}

// runAttempts runs attempts, and keeps none of them in memory while it waits.
func (d *Dispatcher) runAttempts(a *attempt) {
	for ; a != nil; a = d.nextAttempt() {
		d.attempt(a)
	}
}

// nextAttempt waits for an attempt, or returns nil if the goroutine must end,
// because enough others wait or no attempt will come.
func (d *Dispatcher) nextAttempt() *attempt {
	defer d.waiting.Add(-1)
	if d.waiting.Add(1) > maxWaiting {
		return nil
	}
	return <-d.starting
}

// attempt makes one delivery.
func (d *Dispatcher) attempt(a *attempt) {
	a.begun()
	d.end(a, d.deliver(a.ctx, task.Delivery{
		Task:   a.task,
		Number: a.task.Attempts,
		Waited: max(a.Waited-a.task.LateFrom().Sub(a.task.Due), 0),
		Live:   func() error { return d.live(a) },

		Completed: a.completed.Store,
	}))
}

// end passes the outcome of an attempt to the settler.
func (d *Dispatcher) end(a *attempt, o task.Outcome) {
	o.GaveWay = o.Verdict == task.Interrupted && errors.Is(context.Cause(a.ctx), errQuarantineTurn)
	o.ReceiverDelay = a.ReceiverDelay
	a.outcome = o
	a.over.Store(true)
	d.leases.Remove(a.timer)
	a.cancel(nil)
	switch o.Verdict {
	case task.Snooze:
		if !o.Exact { // a handler moves only its own task
			d.update(func(task.Millis) { d.planner.Slow(&a.Pick, a.retryAfter()) })
		}
	case task.Unsent:
		if d.holds(a) {
			break // the settings stopped the attempt, not the receiver
		}
		d.update(func(task.Millis) { d.planner.Rest(&a.Pick, unsentPause) })
	}
	d.outcomes <- a
}

// live is called right before a request is written, and returns an error if the
// request must not be sent.
func (d *Dispatcher) live(a *attempt) error {
	if a.lost.Load() || a.left(d.monotonic()) <= d.config.guard() {
		return ErrLeaseLost
	}
	if !a.Permitted(d.monotonic()) {
		return errPermitLost
	}
	if d.holds(a) {
		return errHeld
	}
	return nil
}

// holds reports whether the settings in force keep a from beginning.
func (d *Dispatcher) holds(a *attempt) bool {
	return d.settings.Load().Hold(a.Lane(), d.now()) != settings.NotHeld
}

// evidence returns the outcome's evidence about the receiver. A status of 500
// or more is about the receiver, and any other status about the request. A
// reply that asks for a delay counts as a reply.
func (a *attempt) evidence() planner.Evidence {
	o := a.outcome
	switch {
	case o.Verdict == task.Unsent:
		return planner.Unsent
	case o.Verdict == task.Failure && o.Status == 0:
		return planner.Silent
	case o.Verdict == task.Failure && o.Status >= 500:
		return planner.Failing
	case o.Verdict == task.Snooze:
		return planner.Snoozed
	case o.Status != 0:
		return planner.Replied
	}
	return planner.Nothing
}

// retryAfter returns for how long the receiver wants no request after a
// Snooze. The result is at most the wait of the task itself, so that one task
// of a namespace cannot stop other tasks for longer than itself.
func (a *attempt) retryAfter() time.Duration {
	r := a.task.Retry
	return min(a.outcome.RetryAfter, max(r.MaxBackoff, r.MinBackoff), maxPause)
}
