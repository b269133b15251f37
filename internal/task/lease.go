package task

import (
	"cmp"
	"slices"
)

const (
	// MaxHistory is how many attempts a task's record keeps, also when it has ended.
	MaxHistory = 20
	// MaxReclaims is how many claims in a row may end without a settlement
	// before the task is dead: a task that kills the process must not do so for ever.
	MaxReclaims = 10
	// QuarantineAfter is how many of them put a task into quarantine. Whatever is
	// under way when the process dies is reclaimed, and one task alone may be to
	// blame: in quarantine they are tried one at a time, so that the next deaths
	// count against that one. Fewer than three would quarantine much that was
	// under way at two restarts by chance, which costs time. With more, one that
	// is innocent and slow could not outlive two other culprits that come while it
	// is tried: each adds as many until it is in quarantine too, and 3 times 3 is
	// below MaxReclaims.
	QuarantineAfter = 3
	// MaxReplyKept is how many bytes of a reply an attempt keeps.
	MaxReplyKept = 512
)

// Claim takes a due task for a while.
type Claim struct {
	Key   Key
	Lane  Lane // as the entry named it; a claim counts against its limits
	Token Token
	Until Millis

	// Trusted is the time by which the task may expire, which is not later than now:
	// a clock that was just set ahead ends nothing. 0: now.
	Trusted Millis
}

// Apply gives the lease to the claim's token. Where it returns ErrExpired the
// result is the finished record, to be written; with any other error there is
// nothing to write. The same token again is answered with the same record,
// unless that is another incarnation by now, whose time may not have come.
// Errors: ErrNotFound, ErrNotDue, ErrLaneChanged, ErrExpired, *StateError.
func (c Claim) Apply(now Millis, old *Task, p Policy) (Result, error) {
	switch {
	case old == nil, old.Recur != nil: // a schedule is fired
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
		t.finish(now, Expired, ReasonExpired, p)
		return Result{Task: t, Effect: Updated}, ErrExpired
	}
	t.State = Running
	t.Lease = &Lease{Token: c.Token, Since: now, Until: c.Until, TaskID: t.ID, Timeout: t.Timeout}
	t.Tries++
	if t.FirstAttemptAt == 0 {
		t.FirstAttemptAt = now
	}
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

// Extension keeps a lease for longer.
type Extension struct {
	Key   Key
	Token Token
	Until Millis
}

// Apply moves the lease's end. Errors: ErrStale.
func (e Extension) Apply(_ Millis, old *Task, _ Policy) (Result, error) {
	if !old.holds(e.Token) {
		return Result{}, ErrStale
	}
	t := old.Clone()
	t.Lease.Until = e.Until
	return Result{Task: t, Effect: Updated}, nil
}

// Settlement ends a claim with what became of its attempt.
type Settlement struct {
	Key     Key
	Token   Token
	Outcome Outcome
}

// Apply ends the lease and decides what follows: delivered, tried again, dead,
// cancelled, or the new incarnation's turn. Errors: ErrStale.
func (s Settlement) Apply(now Millis, old *Task, p Policy) (Result, error) {
	if !old.holds(s.Token) {
		return Result{}, ErrStale
	}
	t := old.Clone()
	lease, superseded := *t.Lease, t.Superseded()
	t.State, t.Lease = Scheduled, nil
	if superseded {
		if t.CancelRequested {
			t.finish(now, Cancelled, t.cancelReason(), p)
		}
		return Result{Task: t, Effect: Updated}, nil
	}
	if s.Outcome.Verdict == Unsent {
		t.unclaim(lease.Since)
	} else {
		t.Urgent = false
		if !s.Outcome.GaveWay {
			t.Reclaims = 0 // it can be settled: it kills nobody
		}
		t.record(s.Outcome.attempt(t.Tries))
		t.age(&lease, &s.Outcome)
	}
	t.follow(now, s.Outcome, p)
	return t.ended(now), nil
}

// ended is the result of a step that may have been the task's last.
func (t *Task) ended(now Millis) Result {
	r := Result{Task: t, Effect: Updated}
	if t.State == Dead {
		r.Spawned = t.obituary(now)
	}
	return r
}

// follow decides what an outcome means for t, whose lease has ended.
func (t *Task) follow(now Millis, o Outcome, p Policy) {
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
		if o.GaveWay { // behind those that it gave way to
			t.Due = now
		}
		return // otherwise due since before: at once
	case Refusal:
		t.die(now, o.Reason, p)
		return
	}
	wait := min(max(o.RetryAfter, t.Retry.MinBackoff), max(t.Retry.MaxBackoff, t.Retry.MinBackoff))
	if o.Verdict != Deferral {
		t.Spent++
		wait = t.Retry.Backoff(t.ID, t.Spent)
	}
	switch {
	case o.Verdict == Failure && t.Retry.MaxAttempts > 0 && t.Spent >= t.Retry.MaxAttempts:
		t.die(now, ReasonAttempts, p)
	case t.Retry.MaxAge > 0 && t.Aged >= t.Retry.MaxAge:
		t.die(now, ReasonAge, p)
	default:
		t.Due = now.Add(wait)
		t.Aged += wait
	}
}

// age counts the attempt that ended against Retry.MaxAge, if it was made for the receiver's
// answer: how long it took, and for how long the receiver alone kept it back since it was
// due, by an open breaker or by its wishes to wait. follow adds the wait that the failure
// brings. Time in which the server was down, the store was away, or the queue was paused or
// purged, does not count. Nor does time at the limits of the queue, but while a breaker is
// open the limits are not told from it. Each part is measured by a clock that never steps.
func (t *Task) age(lease *Lease, o *Outcome) {
	if o.Verdict != Failure && o.Verdict != Deferral {
		return
	}
	t.Aged += max(o.Latency, 0)
	if t.FirstAttemptAt != lease.Since { // nothing ages before its first attempt
		t.Aged += max(min(o.Barred, lease.Since.Sub(t.Due)), 0)
	}
}

// Reap takes back a lease that was lost. Gone says that the process which held
// it is known to be dead, so that no attempt of it can still be on the wire.
func (t *Task) Reap(now Millis, gone bool, p Policy) Result {
	n := t.Clone()
	superseded := n.Superseded()
	lease := *n.Lease
	n.State, n.Lease = Scheduled, nil
	if !gone {
		// Where the clock went ahead, who holds the lease has it yet, by a clock that does not step.
		late := max(now-lease.Until, 0)
		n.ZombieUntil = (lease.Until + late + min(late, max(lease.Until-lease.Since, 0))).Add(lease.Timeout)
	}
	if !superseded {
		n.Reclaims++
		n.record(Attempt{Number: n.Tries, StartedAt: lease.Since, Late: lease.Since.Sub(n.Due), Error: "lost: the server stopped before the attempt was settled"})
	}
	switch {
	case n.CancelRequested:
		n.finish(now, Cancelled, n.cancelReason(), p)
	case !superseded && n.Reclaims >= MaxReclaims:
		n.die(now, ReasonReclaims, p)
	}
	return n.ended(now)
}

func (t *Task) holds(token Token) bool {
	return t != nil && t.State == Running && t.Lease.Token == token
}

// unclaim forgets the attempt that was claimed at since and never began.
func (t *Task) unclaim(since Millis) {
	t.Tries--
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

// finish ends t for good. It keeps its record and the last attempts, which say
// why it was late; of their replies only the last one, and no body unless its
// queue keeps them.
func (t *Task) finish(now Millis, s State, reason string, p Policy) {
	t.end(now, s, reason)
	t.KeepUntil = now.Add(p.KeepFinished)
	if t.Whole = p.KeepBodies; !t.Whole {
		t.Request.Body, t.Request.BodySize, t.Request.BodyKind = nil, 0, NoBody
	}
	for i := range len(t.History) - 1 {
		t.History[i].Reply = ""
	}
}

// cancelReason returns why t ends, which was cancelled while it ran.
func (t *Task) cancelReason() string { return cmp.Or(t.Reason, ReasonCancelled) }

// EndReason returns why t is dead, expired or cancelled, "" where it is not: what
// was cancelled while it runs may be delivered yet.
func (t *Task) EndReason() string {
	if t.State == Running {
		return ""
	}
	return t.Reason
}

// die gives t up. It keeps everything, so that it can be retried.
func (t *Task) die(now Millis, reason string, p Policy) {
	t.end(now, Dead, reason)
	t.KeepUntil = now.Add(p.KeepDead)
}

func (t *Task) end(now Millis, s State, reason string) {
	t.State, t.Reason, t.FinishedAt = s, reason, now
	t.CancelRequested, t.Urgent = false, false
}
