package task

import (
	"hash/fnv"
	"net/url"
	"strconv"
	"time"
)

// Fire creates the occurrence of a due instant and moves the schedule to its
// next instant. One Fire creates at most one occurrence. A schedule with more
// missed instants is therefore due again at once. Dispatch applies Fire, as it
// applies Claim.
type Fire struct{ Key Key }

const (
	// stepBack is the smallest lag of the clock behind the schedule's last
	// instant that counts as a clock step. Smaller lags are normal, as the
	// clocks of nodes that share a store differ a little.
	stepBack Millis = 1000
	// While an occurrence waits for the one before it (BufferOne), the schedule
	// is checked at intervals equal to the time it has waited so far, within
	// these bounds. These checks guarantee progress. The notice that the
	// occurrence before has ended (Task.Awaited) is a hint that may be lost.
	minLook, maxLook Millis = 1000, 30_000
	// problemWait is the interval at which a rule that cannot be followed is
	// checked again.
	problemWait = time.Minute
)

// Apply fires old, which carries its body. In the result, Task is the updated
// schedule without its body, Spawned is the occurrence, and Skipped lists the
// instants that made none. Errors: ErrNotFound, ErrNotDue.
func (Fire) Apply(now Millis, old *Task, f Facts) (Result, error) {
	if old = presentSchedule(old); old == nil {
		return Result{}, ErrNotFound
	}
	if f.Quota.Suspended {
		return Result{}, ErrNotDue
	}
	freed := old.Recur.Waiting != 0 && f.Unfinished == 0
	if old.Due > now && !freed {
		return Result{}, ErrNotDue
	}
	t := old.Clone()
	r := Result{Task: t, Effect: Updated}
	if c, ok := t.instants(now); ok {
		t.Recur.rewind(now)
		if freed {
			r.Spawned = f.Quota.occurrence(t.occurrence(t.Recur.Waiting, now), t.Recur.Waiting, &r.Skipped)
			t.Recur.Waiting = 0
		} else if at := t.Recur.choose(&c, now, &r.Skipped); at != 0 {
			r.Spawned = t.begin(&c, at, now, &f, &r.Skipped)
		}
		if n := len(r.Skipped); n > 0 {
			t.Recur.Skipped = r.Skipped[n-1]
		}
		t.arrange(&c, now)
	}
	t.Request.Body = nil // the record before has it
	return r, nil
}

// occurrence returns o, the occurrence of an instant, or nil if the quota does
// not allow o. Then the instant is skipped.
func (q *Quota) occurrence(o *Task, at Millis, skipped *[]Skip) *Task {
	if err := q.Admit(nil, o); err != nil {
		*skipped = append(*skipped, Skip{Span{at, at}, SkippedQuota})
		return nil
	}
	return o
}

// instants returns the instants of t's rule. It returns false if the zone is
// not known any more. Then it sets t's Problem and the time of the next check.
func (t *Task) instants(now Millis) (calendar, bool) {
	c, err := t.Recur.calendar()
	if err == nil {
		t.Recur.Problem = ""
		return c, true
	}
	t.Recur.Problem, t.Due = err.Error(), now.Add(problemWait)
	if t.Recur.Paused {
		t.Due = Never
	}
	return c, false
}

// begin handles a due instant. It returns the instant's occurrence, or nil if
// none begins now.
func (t *Task) begin(c *calendar, at, now Millis, f *Facts, skipped *[]Skip) *Task {
	r := t.Recur
	if r.Overlap != AllowOverlap && f.Unfinished > 0 {
		if r.Overlap == BufferOne && r.Waiting == 0 {
			r.Waiting = at
			r.fired(c, at)
		} else {
			*skipped = append(*skipped, Skip{Span{at, at}, SkippedOverlap})
		}
		return nil
	}
	o := f.Quota.occurrence(t.occurrence(at, now), at, skipped)
	if o != nil {
		r.fired(c, at)
	}
	return o
}

// choose returns the due instant to handle now, and skips those that the rule
// passes over. It returns 0 if none is left.
func (r *Recurrence) choose(c *calendar, now Millis, skipped *[]Skip) Millis {
	first := r.upcoming(c)
	if first == 0 || first > now {
		return 0
	}
	latest := r.latest(c, now)
	first = r.skipTo(c, first, now-r.window(c, latest), SkippedWindow, skipped)
	at := latest
	switch {
	case first == 0 || first > now:
		return 0
	case r.Misfire == FireAll:
		if first > r.Limited {
			first = r.skipTo(c, first, r.back(c, first, latest), SkippedLimit, skipped)
			r.Limited = now
		}
		at = first
	case r.Misfire == SkipMissed && now-latest > c.grace(latest):
		r.skipTo(c, first, latest+1, SkippedMisfire, skipped)
		return 0
	default:
		r.skipTo(c, first, latest, SkippedMisfire, skipped)
	}
	r.dealt(c, at)
	return at
}

// window returns for how long a missed instant is made up for. It is never
// shorter than the grace, because an instant within its grace was not missed.
func (r *Recurrence) window(c *calendar, latest Millis) Millis {
	w := Millis(r.CatchupWindow / time.Millisecond)
	if w < maxGrace {
		w = max(w, c.grace(latest))
	}
	return w
}

// skipTo records the instants from first up to, but not including, to as
// skipped, and returns the first instant after them, or 0 if there is none.
// Instants that were fired early, while the clock was ahead, are not recorded.
func (r *Recurrence) skipTo(c *calendar, first, to Millis, why string, skipped *[]Skip) Millis {
	for first != 0 && first < to {
		r.dealt(c, c.upTo(min(to, r.firedAfter(first))-1))
		*skipped = append(*skipped, Skip{Span{first, r.Last}, why})
		first = r.upcoming(c)
	}
	return first
}

// dealt records that all instants until at have been handled.
func (r *Recurrence) dealt(c *calendar, at Millis) { r.Last, r.Civil = at, c.civil(at) }

// upcoming returns the first instant that has not been handled, or 0.
func (r *Recurrence) upcoming(c *calendar) Millis {
	if r.MaxRuns > 0 && r.Runs >= r.MaxRuns {
		return 0
	}
	at := c.after(r.Last, r.Civil)
	for at != 0 {
		s, ok := r.firedAt(at)
		if !ok {
			break
		}
		at = c.after(s.Until, 0)
	}
	return at
}

// latest returns the last instant at or before m that was not fired, or 0.
func (r *Recurrence) latest(c *calendar, m Millis) Millis {
	at := c.upTo(m)
	for at != 0 {
		s, ok := r.firedAt(at)
		if !ok {
			break
		}
		at = c.upTo(s.From - 1)
	}
	return at
}

// back returns the first of the CatchupLimit instants up to latest, but at
// least first.
func (r *Recurrence) back(c *calendar, first, latest Millis) Millis {
	for n := r.CatchupLimit; n > 1 && latest > first; n-- {
		latest = r.latest(c, latest-1)
	}
	return latest
}

// rewind handles a clock that was set back. Instants that were skipped while
// the clock was ahead can fire again, and fired ones cannot.
func (r *Recurrence) rewind(now Millis) {
	if r.Last > now+stepBack {
		r.Last, r.Civil, r.Limited = now, 0, min(r.Limited, now)
	}
}

// arrange sets the time at which the schedule must be checked next.
func (t *Task) arrange(c *calendar, now Millis) {
	r := t.Recur
	r.Next = r.upcoming(c)
	t.Due = Never
	switch {
	case r.Paused:
		return
	case r.Next != 0:
		t.Due = r.Next
	}
	if r.Waiting != 0 {
		t.Due = min(t.Due, now+min(max(now-r.Waiting, minLook), maxLook))
	}
}

// occurrence returns the task of an instant. The task's name and id follow from
// the schedule and the instant, so a repeat makes the same task. If the clock
// was set back, an instant that has already waited does not wait again.
func (t *Task) occurrence(at, now Millis) *Task {
	id := deriveID("occurrence", t, strconv.FormatInt(int64(at), 10))
	s := t.Template(OccurrenceName(t.ScheduleName(), at), id, min(at, now).Add(t.jitter(at)))
	return s.record(now) // shares t's maps, which are never modified
}

// Template returns the spec of a task of the schedule, with the given name, id
// and due time. The task is an occurrence, a triggered task, or one that makes
// up for the past. t carries its body.
func (t *Task) Template(name, id string, due Millis) Spec {
	s := Spec{
		Key: Key{Namespace: t.Namespace, Name: name}, ID: id,
		Queue: t.Recur.Queue, Priority: t.Recur.Priority, Labels: t.Labels, Request: t.Request,
		When: When{At: due}, Timeout: t.Timeout, ExpireAfter: t.ExpireAfter, Retry: t.Retry, OnDead: t.OnDead,
		Awaited: t.Recur.Overlap == BufferOne,
	}
	if u, err := url.Parse(s.Request.URL); err == nil { // it was valid when the schedule was accepted
		s.Request.Destination = destination(u)
	}
	return s
}

// jitter returns the delay of an occurrence after its instant. The delay is
// always the same for one instant, and evenly distributed below Jitter.
func (t *Task) jitter(at Millis) time.Duration {
	most := uint64(t.Recur.Jitter / time.Millisecond)
	if most == 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(OccurrenceName(t.ID, at)))
	return time.Duration(h.Sum64()%most) * time.Millisecond
}
