package task

import (
	"hash/fnv"
	"math"
	"net/url"
	"slices"
	"time"
)

// Fire lets a schedule make the occurrence of an instant that has come, and moves it
// on to the next: one occurrence at most for each Fire, so that whoever has more to
// make up for is due again at once. It is dispatch's, as a claim is.
type Fire struct {
	Key Key

	// Unfinished is how many occurrences of the schedule are unfinished. The store sets it.
	Unfinished int64
}

const (
	// stepBack is how far the clock must lie behind what a schedule has dealt with for
	// that to mean a step: clocks of nodes that share a store differ a little.
	stepBack Millis = 1000
	// maxSpans bounds Recurrence.Fired. A span ends where something was skipped.
	maxSpans = 16
	// While an occurrence waits for the one before (BufferOne) the schedule is looked at
	// again after as long as it has waited, within these bounds. That is the truth: the
	// end of the one before is told (Task.Awaited), which is a hint.
	minLook, maxLook Millis = 1000, 30_000
	// problemWait is after which time a rule that cannot be followed is looked at again.
	problemWait = time.Minute
)

// Apply fires old, which carries its body. The result's Task is the schedule as it goes
// on, without its body, Spawned the occurrence, Skipped what made none. Errors: ErrNotFound, ErrNotDue.
func (f Fire) Apply(now Millis, old *Task, _ Policy) (Result, error) {
	if old == nil || old.Recur == nil || old.State != Scheduled {
		return Result{}, ErrNotFound
	}
	freed := old.Recur.Waiting != 0 && f.Unfinished == 0
	if old.Due > now && !freed {
		return Result{}, ErrNotDue
	}
	t := old.Clone()
	c, err := t.Recur.calendar()
	if err != nil {
		t.Recur.Problem, t.Due = err.Error(), now.Add(problemWait)
		return Result{Task: t, Effect: Updated}, nil
	}
	t.Recur.Problem = ""
	t.Recur.rewind(now)
	r := Result{Task: t, Effect: Updated}
	if freed {
		r.Spawned = t.occurrence(t.Recur.Waiting)
		t.Recur.Waiting = 0
	} else if at := t.Recur.choose(&c, now, &r.Skipped); at != 0 {
		r.Spawned = t.begin(&c, at, f.Unfinished, &r.Skipped)
	}
	if n := len(r.Skipped); n > 0 {
		t.Recur.Skipped = r.Skipped[n-1]
	}
	t.arrange(&c, now)
	t.Request.Body = nil // it is kept already
	return r, nil
}

// begin deals with an instant whose time has come, and returns its occurrence, nil
// where it makes none now.
func (t *Task) begin(c *calendar, at Millis, unfinished int64, skipped *[]Skip) *Task {
	r := t.Recur
	if r.Overlap != AllowOverlap && unfinished > 0 {
		if r.Overlap == BufferOne && r.Waiting == 0 {
			r.Waiting = at
			r.fired(c, at)
		} else {
			*skipped = append(*skipped, Skip{Span{at, at}, SkippedOverlap})
		}
		return nil
	}
	r.fired(c, at)
	return t.occurrence(at)
}

// choose returns which of the instants that have come is dealt with now, and passes
// over those that the rule skips; 0: none has come.
func (r *Recurrence) choose(c *calendar, now Millis, skipped *[]Skip) Millis {
	first := r.upcoming(c)
	if first == 0 || first > now {
		return 0
	}
	first = r.skipTo(c, first, r.oldest(now), SkippedWindow, skipped)
	if first == 0 || first > now {
		return 0
	}
	last := c.upTo(now)
	switch {
	case r.Misfire == FireAll:
		if first > r.Cut {
			first = r.skipTo(c, first, c.back(last, r.CatchupLimit-1), SkippedLimit, skipped)
			r.Cut = now
		}
		last = first
	case r.Misfire == SkipMissed && now-last > c.grace(last):
		r.skipTo(c, first, last+1, SkippedMisfire, skipped)
		return 0
	default:
		r.skipTo(c, first, last, SkippedMisfire, skipped)
	}
	r.Last, r.Civil = last, c.civil(last)
	if r.wasFired(last) { // the clock was set back
		return 0
	}
	return last
}

// oldest returns the instant before which nothing is made up for.
func (r *Recurrence) oldest(now Millis) Millis { return now.Add(-r.CatchupWindow) }

// skipTo passes over the instants from first on that lie before to, and returns the
// first that does not, 0 for none.
func (r *Recurrence) skipTo(c *calendar, first, to Millis, why string, skipped *[]Skip) Millis {
	if first >= to {
		return first
	}
	last := c.upTo(to - 1)
	if last < first { // none of them stands on the grid any more: the zone's rules have changed
		last = first
	}
	r.Last, r.Civil = last, c.civil(last)
	*skipped = append(*skipped, Skip{Span{first, last}, why})
	return r.upcoming(c)
}

// back returns the instant n before at, the first there is at least.
func (c *calendar) back(at Millis, n int) Millis {
	if c.every != 0 {
		return at - min(Millis(n), math.MaxInt64/c.every)*c.every
	}
	for range n {
		before := c.upTo(at - 1)
		if before == 0 {
			break
		}
		at = before
	}
	return at
}

// upcoming returns the first instant that was not dealt with, 0 for none.
func (r *Recurrence) upcoming(c *calendar) Millis {
	if r.MaxRuns > 0 && r.Runs >= r.MaxRuns {
		return 0
	}
	at := c.after(r.Last, r.Civil)
	for at != 0 && r.wasFired(at) {
		at = c.after(r.spanOf(at).Until, 0)
	}
	return at
}

// rewind takes in that the clock was set back: instants that were skipped because it was
// ahead come again, those that were fired do not.
func (r *Recurrence) rewind(now Millis) {
	if r.Last > now+stepBack {
		r.Last, r.Civil, r.Cut = now, 0, min(r.Cut, now)
	}
}

// fired notes that the instant at was fired.
func (r *Recurrence) fired(c *calendar, at Millis) {
	r.Runs++
	n := len(r.Fired)
	if n > 0 && c.upTo(at-1) == r.Fired[n-1].Until {
		r.Fired[n-1].Until = at
		return
	}
	r.Fired = append(r.Fired, Span{at, at})
	if n == maxSpans {
		r.Fired = slices.Delete(r.Fired, 0, 1)
	}
}

func (r *Recurrence) wasFired(at Millis) bool { return r.spanOf(at) != Span{} }

// spanOf returns the span of instants that were fired in which at lies.
func (r *Recurrence) spanOf(at Millis) Span {
	for _, s := range slices.Backward(r.Fired) {
		if s.From <= at && at <= s.Until {
			return s
		}
	}
	return Span{}
}

// arrange sets when the schedule is to be looked at next.
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

// occurrence returns the task that an instant makes. Its name and id follow from the
// instant, so that whatever is repeated makes the same.
func (t *Task) occurrence(at Millis) *Task {
	return t.Occurrence(OccurrenceName(t.ScheduleName(), at), at.Add(t.jitter(at)))
}

// Occurrence returns a task as the schedule makes them, of a name of its own and due when
// the caller wants: one that was triggered, or that makes up for the past. t carries its body.
func (t *Task) Occurrence(name string, due Millis) *Task {
	s := t.Template(name, due)
	return s.begin(due)
}

// Template returns what an occurrence of that name and due time would be created with.
func (t *Task) Template(name string, due Millis) Spec {
	s := Spec{
		Key: Key{Namespace: t.Namespace, Name: name}, ID: DeriveID(t.Namespace, name),
		Queue: t.Recur.Queue, Priority: t.Recur.Priority, Labels: t.Labels, Request: t.Request,
		When: When{At: due}, Timeout: t.Timeout, ExpireAfter: t.ExpireAfter, Retry: t.Retry, OnDead: t.OnDead,
		Awaited: t.Recur.Overlap == BufferOne,
	}
	if u, err := url.Parse(s.Request.URL); err == nil { // it was valid when the schedule was accepted
		s.Request.Destination = destination(u)
	}
	return s
}

// jitter returns how long after its instant an occurrence is due: the same for one
// instant whoever asks, spread evenly below Jitter.
func (t *Task) jitter(at Millis) time.Duration {
	most := uint64(t.Recur.Jitter / time.Millisecond)
	if most == 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(OccurrenceName(t.ID, at)))
	return time.Duration(h.Sum64()%most) * time.Millisecond
}
