package task

import (
	"cmp"
	"slices"
)

const (
	// MaxHistory is the number of attempts that a task's record keeps, even after
	// the task has ended.
	MaxHistory = 20
	// MaxReclaims is the number of consecutive claims without a settlement after
	// which the task is dead, because a task that kills the process must not do so
	// for ever.
	MaxReclaims = 10
	// QuarantineAfter is the number of reclaims that put a task into
	// quarantine. When the process dies, all attempts under way are reclaimed,
	// although one task alone may have caused the death. Quarantined tasks run
	// one at a time, so the next death counts against the task that caused it.
	//
	// A limit below three would delay many harmless tasks, because two restarts by
	// chance would quarantine them. With a limit above three, a slow and harmless
	// task could die because of two tasks that crash the process while it runs.
	// Each of the two adds reclaims to it until that task is itself in quarantine,
	// and 3 times 3 is below MaxReclaims.
	QuarantineAfter = 3
	// MaxReplyKept is the maximum number of bytes of a reply that the record keeps.
	MaxReplyKept = 512
)

// Claim takes a due task for a while.
type Claim struct {
	Key    Key
	Lane   Lane // the lane in the entry; the claim counts against the limits of this lane
	Token  Token
	Until  Millis
	Holder string // see Lease

	// Trusted is the time with which Apply decides whether the task has expired;
	// zero means now. It is at most now, so a clock that was just set ahead expires
	// no task.
	Trusted Millis
}

// Apply gives the lease to the claim's token. If Apply returns ErrExpired, the
// result is the finished record, which must be written; with any other error there
// is nothing to write. A repeated claim with the same token gets the same record,
// unless the record is now another incarnation, which might not be due yet. Errors:
// ErrNotFound, ErrNotDue, ErrLaneChanged, ErrExpired, *StateError.
func (c Claim) Apply(now Millis, old *Task, f Facts) (Result, error) {
	switch {
	case old == nil, old.IsSchedule(): // a schedule is fired
		return Result{}, ErrNotFound
	case old.holds(c.Token) && !old.Superseded():
		return Result{Task: old, Effect: Repeated}, nil
	case old.State != Scheduled:
		return Result{}, &StateError{Op: "claim", ID: old.ID, State: old.State, Code: claimCode(old.State)}
	case old.Due > now:
		return Result{}, ErrNotDue
	case old.Lane() != c.Lane:
		return Result{}, ErrLaneChanged
	}
	t := old.Clone()
	if end := t.ExpiresAt(); end != 0 && now > end && cmp.Or(c.Trusted, now) > end {
		t.finish(now, Expired, ReasonExpired, f.Policy)
		return Result{Task: t, Effect: Updated}, ErrExpired
	}
	t.State = Running
	t.Lease = &Lease{Token: c.Token, Since: now, Until: c.Until, TaskID: t.ID, Timeout: t.Timeout, Holder: c.Holder}
	t.Attempts++
	t.FirstAttemptAt = cmp.Or(t.FirstAttemptAt, now)
	return Result{Task: t, Effect: Updated}, nil
}

func claimCode(s State) string {
	switch s {
	case Running:
		return CodeRunning
	case Dead:
		return CodeDead
	}
	return CodeFinished
}

// Extension moves the end of a lease.
type Extension struct {
	Key   Key
	Token Token
	Until Millis
}

// Apply moves the lease's end, and returns ErrCancelRequested if the task was
// cancelled, with a result that must be written. Errors: ErrStale,
// ErrCancelRequested.
func (e Extension) Apply(_ Millis, old *Task, _ Facts) (Result, error) {
	if !old.holds(e.Token) {
		return Result{}, ErrStale
	}
	t := old.Clone()
	t.Lease.Until = e.Until
	if t.CancelRequested {
		return Result{Task: t, Effect: Updated}, ErrCancelRequested
	}
	return Result{Task: t, Effect: Updated}, nil
}

// Settlement ends a claim with the outcome of its attempt.
type Settlement struct {
	Key     Key
	Token   Token
	Outcome Outcome
}

// Apply ends the lease and applies the outcome: the task is delivered, retried,
// dead or cancelled, or its new incarnation is next. Errors: ErrStale.
func (s Settlement) Apply(now Millis, old *Task, f Facts) (Result, error) {
	if !old.holds(s.Token) {
		return Result{}, ErrStale
	}
	t := old.Clone()
	lease, superseded := *t.Lease, t.Superseded()
	t.State, t.Lease = Scheduled, nil
	if superseded {
		if t.CancelRequested {
			t.finish(now, Cancelled, t.cancelReason(), f.Policy)
		}
		return Result{Task: t, Effect: Updated}, nil
	}
	if s.Outcome.Verdict == Unsent {
		t.unclaim(lease.Since)
	} else {
		t.RunNow = false
		if !s.Outcome.GaveWay {
			t.Reclaims = 0 // the attempt was settled, so the task did not crash the process
		}
		t.record(s.Outcome.attempt(t.Attempts))
		t.age(&lease, &s.Outcome)
	}
	t.settleWith(now, s.Outcome, f.Policy)
	return t.ended(now), nil
}

// ended returns the result of a transition of t, with the task that reports the
// death if t is dead now.
func (t *Task) ended(now Millis) Result {
	r := Result{Task: t, Effect: Updated}
	if t.State == Dead {
		r.Spawned = t.deadNotice(now)
	}
	return r
}

// settleWith applies an outcome to t, whose lease has ended.
func (t *Task) settleWith(now Millis, o Outcome, p Policy) {
	if o.Verdict == Success {
		t.finish(now, Delivered, "", p)
		return
	}
	if t.CancelRequested {
		t.finish(now, Cancelled, t.cancelReason(), p)
		return
	}
	switch o.Verdict {
	case Unsent, Interrupted:
		if o.GaveWay { // the task waits behind the tasks for which it was stopped
			t.Due = now
		}
		return // the due time has passed, so the task is due at once
	case Refusal:
		t.endDead(now, o.Reason, p)
		return
	}
	if o.Verdict == Snooze && o.Exact {
		t.reschedule(now, now.Add(o.RetryAfter))
		return
	}
	wait := min(max(o.RetryAfter, t.Retry.MinBackoff), max(t.Retry.MaxBackoff, t.Retry.MinBackoff))
	if o.Verdict != Snooze {
		t.AttemptsUsed++
		wait = t.Retry.Backoff(t.ID, t.AttemptsUsed)
	}
	if o.Exact {
		wait = o.RetryAfter
	}
	switch {
	case o.Verdict == Failure && t.Retry.MaxAttempts > 0 && t.AttemptsUsed >= t.Retry.MaxAttempts:
		t.endDead(now, ReasonAttempts, p)
	case t.Retry.MaxAge > 0 && t.Aged >= t.Retry.MaxAge:
		t.endDead(now, ReasonAge, p)
	default:
		t.Due = now.Add(wait)
		t.Aged += wait
	}
}

// age counts the ended attempt against Retry.MaxAge if its request was sent. It
// adds the attempt's duration, and the time since the due time for which only
// the receiver delayed the task, by an open breaker or by its Retry-After.
// settleWith adds the wait that a failure causes.
//
// Time does not count while the server is down, the store is unavailable, or the
// queue is paused or purged. Time at the limits of the queue does not count either,
// except while a breaker is open, because then the two cannot be separated; a
// monotonic clock measures each part.
func (t *Task) age(lease *Lease, o *Outcome) {
	if o.Verdict != Failure && (o.Verdict != Snooze || o.Exact) {
		return
	}
	t.Aged += max(o.Latency, 0)
	if t.FirstAttemptAt != lease.Since { // nothing ages before its first attempt
		t.Aged += max(min(o.ReceiverDelay, lease.Since.Sub(t.Due)), 0)
	}
}

// Reap removes a lease that was lost. gone is set if the process that held the
// lease is known to be dead, so that none of its attempts can still be sending.
func (t *Task) Reap(now Millis, gone bool, p Policy) Result {
	n := t.Clone()
	superseded := n.Superseded()
	lease := *n.Lease
	n.State, n.Lease = Scheduled, nil
	if !gone {
		// If the clock was set ahead, the holder still has the lease, because it
		// measures the lease with a monotonic clock.
		late := max(now-lease.Until, 0)
		n.MaybeSendingUntil = (lease.Until + late + min(late, max(lease.Until-lease.Since, 0))).Add(lease.Timeout)
	}
	if !superseded {
		n.Reclaims++
		n.record(Attempt{Number: n.Attempts, StartedAt: lease.Since, Late: max(lease.Since.Sub(n.LateFrom()), 0), Error: "lost: the server stopped before the attempt was settled"})
	}
	switch {
	case n.CancelRequested:
		n.finish(now, Cancelled, n.cancelReason(), p)
	case !superseded && n.Reclaims >= MaxReclaims:
		n.endDead(now, ReasonReclaims, p)
	}
	return n.ended(now)
}

// Refuse returns the result of t, which was accepted before it could be checked, after
// the error why of the check: it is dead, and its history has the error.
func (t *Task) Refuse(now Millis, why error, p Policy) Result {
	n := t.Clone()
	n.record(Attempt{StartedAt: now, Error: Clip(why.Error(), MaxErrorKept)})
	n.endDead(now, ReasonRefused, p)
	return n.ended(now)
}

func (t *Task) holds(token Token) bool {
	return t != nil && t.State == Running && t.Lease.Token == token
}

// unclaim reverts the claim that was made at since, whose attempt never began.
func (t *Task) unclaim(since Millis) {
	t.Attempts--
	if t.FirstAttemptAt == since { // the age began with this claim
		t.FirstAttemptAt = 0
	}
}

// record adds a to the history.
func (t *Task) record(a Attempt) {
	t.History = append(t.History, a)
	if over := len(t.History) - MaxHistory; over > 0 {
		t.History = slices.Delete(t.History, 0, over)
	}
}
