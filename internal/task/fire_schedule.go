package task

import (
	"hash/fnv"
	"net/url"
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/task/recurrence"
)

// Fire creates the occurrence of a due instant and moves the schedule to its
// next instant. One Fire creates at most one occurrence. A schedule with more
// missed instants is therefore due again at once. Dispatch applies Fire, as it
// applies Claim.
type Fire struct{ Key Key }

const (
	// While an occurrence waits for the one before it (BufferOne), the schedule
	// is checked at intervals equal to the time it has waited so far, within
	// these bounds. These checks guarantee progress. The notice that the
	// occurrence before has ended (Task.NotifySchedule) is a hint that may be lost.
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
		t.Recur.Rewind(now)
		if freed {
			r.Spawned = f.Quota.occurrence(t.occurrence(t.Recur.Waiting, now), t.Recur.Waiting, &r.Skipped)
			t.Recur.Waiting = 0
		} else if at := t.Recur.Choose(&c, now, &r.Skipped); at != 0 {
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
func (q *Quota) occurrence(o *Task, at Millis, skipped *[]recurrence.Skip) *Task {
	if err := q.Admit(nil, o); err != nil {
		*skipped = append(*skipped, recurrence.NewSkip(at, recurrence.SkippedQuota))
		return nil
	}
	return o
}

// instants returns the instants of t's rule. It returns false if the zone is
// not known any more. Then it sets t's Problem and the time of the next check.
func (t *Task) instants(now Millis) (recurrence.Calendar, bool) {
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

// begin handles a due instant. It returns the instant's occurrence, or nil if
// none begins now.
func (t *Task) begin(c *recurrence.Calendar, at, now Millis, f *Facts, skipped *[]recurrence.Skip) *Task {
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
	o := f.Quota.occurrence(t.occurrence(at, now), at, skipped)
	if o != nil {
		r.MarkFired(c, at)
	}
	return o
}

// arrange sets the time at which the schedule must be checked next.
func (t *Task) arrange(c *recurrence.Calendar, now Millis) {
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
		NotifySchedule: t.Recur.Overlap == recurrence.BufferOne,
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
