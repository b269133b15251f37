package task

import (
	"hash/fnv"
	"net/url"
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/task/recurrence"
)

// Fire creates the occurrence of a due instant and moves the schedule to its
// next instant. One Fire creates at most one occurrence, so a schedule with more
// missed instants is due again at once; recurrence.Missed is the policy for
// these. Dispatch applies Fire, as it applies Claim.
type Fire struct{ Key Key }

const (
	// While an occurrence waits for the one before it (BufferOne), the schedule
	// is checked at intervals equal to the time it has waited so far, within
	// these bounds. It is checked because the hint that the earlier occurrence
	// has ended (Task.NotifySchedule) can be lost.
	minCheck, maxCheck Millis = 1000, 30_000
	// problemWait is the interval at which a rule with a problem, such as
	// an unknown zone, is checked again.
	problemWait = time.Minute
)

// Apply fires the schedule old, whose body must be loaded. In the result, Task
// is the updated schedule without its body, Spawned is the occurrence, and
// Skipped lists the instants for which no occurrence is made. Errors:
// ErrNotFound, ErrNotDue.
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
	if c, ok := t.calendar(now); ok {
		t.Recur.Rewind(now)
		if freed {
			r.Spawned = f.Quota.allow(t.occurrence(t.Recur.Waiting, now), t.Recur.Waiting, &r.Skipped)
			t.Recur.Waiting = 0
		} else if at := t.Recur.Choose(&c, now, &r.Skipped); at != 0 {
			r.Spawned = t.fireInstant(&c, at, now, &f, &r.Skipped)
		}
		if n := len(r.Skipped); n > 0 {
			t.Recur.Skipped = r.Skipped[n-1]
		}
		t.setNextCheck(&c, now)
	}
	t.Request.Body = nil // the stored body stays as it is
	return r, nil
}

// allow returns o, the occurrence of an instant, unless the quota does not allow
// it: then it returns nil and adds the instant to skipped.
func (q *Quota) allow(o *Task, at Millis, skipped *[]recurrence.Skip) *Task {
	if err := q.Admit(nil, o); err != nil {
		*skipped = append(*skipped, recurrence.NewSkip(at, recurrence.SkippedQuota))
		return nil
	}
	return o
}

// calendar returns the calendar of t's rule. If the rule yields no instants,
// because its zone is no longer known, calendar returns false, and sets t's
// Problem and the time of the next check.
func (t *Task) calendar(now Millis) (recurrence.Calendar, bool) {
	c, err := t.Recur.Calendar()
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

// fireInstant handles a due instant, and returns its occurrence, or nil if that
// waits or is skipped.
func (t *Task) fireInstant(c *recurrence.Calendar, at, now Millis, f *Facts, skipped *[]recurrence.Skip) *Task {
	r := t.Recur
	if r.Overlap != recurrence.AllowOverlap && f.Unfinished > 0 {
		if r.Overlap == recurrence.BufferOne && r.Waiting == 0 {
			r.Waiting = at
			r.MarkFired(c, at)
		} else {
			*skipped = append(*skipped, recurrence.NewSkip(at, recurrence.SkippedOverlap))
		}
		return nil
	}
	o := f.Quota.allow(t.occurrence(at, now), at, skipped)
	if o != nil {
		r.MarkFired(c, at)
	}
	return o
}

// setNextCheck sets t's due time to the next instant, or to the next check of a
// waiting occurrence if that is earlier.
func (t *Task) setNextCheck(c *recurrence.Calendar, now Millis) {
	r := t.Recur
	r.Next = r.Upcoming(c)
	t.Due = Never
	switch {
	case r.Paused:
		return
	case r.Next != 0:
		t.Due = r.Next
	}
	if r.Waiting != 0 {
		t.Due = min(t.Due, now+min(max(now-r.Waiting, minCheck), maxCheck))
	}
}

// occurrence returns the task of an instant, with a name and an id that follow
// from the schedule and the instant, so a repeated Fire makes the same task. If
// the clock was set back, the task's due time counts from now instead of at,
// because an instant that has already waited does not wait again.
func (t *Task) occurrence(at, now Millis) *Task {
	id := deriveID("occurrence", t, strconv.FormatInt(int64(at), 10))
	s := t.Template(OccurrenceName(t.ScheduleName(), at), id, min(at, now).Add(t.jitter(at)))
	n := s.record(now)
	return &n // shares t's maps, which are never modified
}

// Template returns the spec of a task of the schedule (an occurrence, a
// triggered task, or a task of a backfill), with the given name, id and due
// time. t's body must be loaded.
func (t *Task) Template(name, id string, due Millis) Spec {
	s := Spec{
		Key: Key{Namespace: t.Namespace, Name: name}, ID: id,
		Queue: t.Recur.Queue, Priority: t.Recur.Priority, Labels: t.Labels, Request: t.Request,
		When: When{At: due}, Timeout: t.Timeout, ExpireAfter: t.ExpireAfter, Retry: t.Retry, OnDead: t.OnDead,
		NotifySchedule: t.Recur.Overlap == recurrence.BufferOne,
	}
	if s.Request.Kind != "" {
		s.Request.Destination = KindDestination(s.Request.Kind)
	} else if u, err := url.Parse(s.Request.URL); err == nil { // it was valid when the schedule was accepted
		s.Request.Destination = destination(u)
	}
	return s
}

// jitter returns the delay of an occurrence after its instant, which is always
// the same for an instant. The delays are evenly distributed below Jitter.
func (t *Task) jitter(at Millis) time.Duration {
	most := uint64(t.Recur.Jitter / time.Millisecond)
	if most == 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(OccurrenceName(t.ID, at)))
	return time.Duration(h.Sum64()%most) * time.Millisecond
}
