package planner

import (
	"math"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Destination is the state of one host:port, as one namespace uses it.
type Destination struct {
	Namespace, Host string // host:port

	Breaker Breaker
	Until   time.Time // the end of its open breaker or of the delay it asked for; nothing is sent before; zero means neither

	Running   int           // attempts under way
	Waiting   int           // known tasks that wait
	Overdue   int           // those that are due
	Oldest    time.Duration // for how long the first of them has been due
	Allowance int           // attempts that can be under way without borrowing, over its lanes
}

// Limit is the reason why due tasks of a queue wait.
type Limit string

// The limits. If several apply, the first one is named.
const (
	// NoLimit means that no task is due, or that tasks only wait for their
	// turn: one is about to start, or is in quarantine.
	NoLimit          Limit = ""
	LimitSuspended   Limit = "suspended"   // its namespace is suspended
	LimitPurge       Limit = "purge"       // a purge is under way
	LimitPause       Limit = "pause"       // the queue is paused
	LimitConcurrency Limit = "concurrency" // as many attempts are under way as the limit allows
	LimitRate        Limit = "rate"        // its tokens are used up
	// LimitRunner means that this process does not run the due tasks: it has no
	// handler for their kinds, or sends no requests.
	LimitRunner         Limit = "runner"
	LimitSlots          Limit = "slots"           // the server has no slot left for it
	LimitBreaker        Limit = "breaker"         // the breaker of its destination is not closed
	LimitRetryAfter     Limit = "retry_after"     // its receiver asked for a delay
	LimitPerDestination Limit = "per_destination" // the queue allows no more attempts at its destination
	LimitUnsent         Limit = "unsent"          // for a local reason, the last request to its destination was not sent
	LimitKind           Limit = "kind"            // its handler runs as often as its own limit allows
	LimitQuarantine     Limit = "quarantine"      // another task in quarantine runs
	LimitTurn           Limit = "turn"            // nothing else holds it back: other tasks are first
)

// Holds reports whether l holds all tasks of its queue, except those that were
// run by hand.
func (l Limit) Holds() bool { return l == LimitSuspended || l == LimitPurge || l == LimitPause }

// QueueState is the state of one queue.
type QueueState struct {
	Namespace, Name string

	Limit Limit
	// Next is when Limit ends by itself: at the next token, or at the end of a
	// pause. Zero means never, or unknown.
	Next    time.Time
	Running int // attempts under way
	// Waiting counts the known tasks that wait. If the queue is paused or
	// purged, only those that were run by hand are known.
	Waiting int
	Overdue int           // those that are due
	Oldest  time.Duration // for how long the first of them has been due
}

// walk is one pass over one of the Planner's maps. The map can change during
// paused. So the list is not a snapshot, but each of its members is consistent.
// Removed members are left out, and new members can be included.
type walk struct {
	now   time.Time // the time of the wall clock
	pause func(cost int) time.Time
}

// paused must be called after each part. During the call other goroutines can
// use the Planner.
func (w *walk) paused(cost int) { w.now = w.pause(cost) }

// Destinations returns the state of each destination. It calls pause after each
// part of the walk, with the cost of the part in units of about 100 ns. During
// pause other goroutines can use the Planner. pause must return the time of the
// wall clock.
func (pl *Planner) Destinations(now time.Time, pause func(cost int) time.Time) []Destination {
	var list []Destination
	w := &walk{now, pause}
	for _, t := range pl.destinations {
		if t.key.destination == "" { // the destination of schedules
			continue
		}
		list = append(list, pl.destination(t, w))
	}
	return list
}

// Queues returns the state of each queue. For pause see Destinations.
func (pl *Planner) Queues(now time.Time, pause func(cost int) time.Time) []QueueState {
	var list []QueueState
	w := &walk{now, pause}
	for _, q := range pl.queues {
		if q.key.name == task.ScheduleQueue {
			continue
		}
		list = append(list, pl.queueState(q, w))
	}
	return list
}

// wallAt converts a time of the monotonic clock. now is the time of the wall
// clock.
func (pl *Planner) wallAt(monotonic time.Duration, now time.Time) time.Time {
	return now.Add(monotonic - pl.monotonic).Round(0)
}

func (pl *Planner) destination(t *destination, w *walk) Destination {
	d := Destination{
		Namespace: t.key.namespace, Host: t.key.destination,
		Breaker: t.breaker.state(pl.monotonic), Running: t.running,
	}
	if until := t.closedUntil(); until > pl.monotonic {
		d.Until = pl.wallAt(until, w.now)
	}
	for i := 0; i < len(t.lanes); i++ { // the list can change in paused
		l := t.lanes[i]
		d.Waiting += l.order.len()
		d.Allowance += l.allowance
		overdue, oldest := l.overdue(task.FloorMillis(w.now))
		d.Overdue, d.Oldest = d.Overdue+overdue, max(d.Oldest, oldest)
		w.paused(1 + overdue)
	}
	w.paused(1)
	return d
}

func (pl *Planner) queueState(q *queue, w *walk) QueueState {
	s := QueueState{Namespace: q.key.namespace, Name: q.key.name, Running: q.running}
	for i := 0; i < len(q.lanes); i++ { // the list can change in paused
		l := q.lanes[i]
		s.Waiting += l.order.len()
		overdue, oldest := l.overdue(task.FloorMillis(w.now))
		s.Overdue, s.Oldest = s.Overdue+overdue, max(s.Oldest, oldest)
		w.paused(1 + overdue)
	}
	w.paused(1)
	s.Limit, s.Next = pl.limitOf(q, w.now)
	return s
}

// limitOf returns the reason why tasks of q wait, and the end of that reason.
func (pl *Planner) limitOf(q *queue, now time.Time) (Limit, time.Time) {
	if by, until := pl.heldBy(task.Lane{Namespace: q.key.namespace, Queue: q.key.name, Priority: task.Normal}, now); by != NoLimit {
		return by, until
	}
	switch at := q.token(pl.monotonic); {
	case q.busy == 0:
		return NoLimit, time.Time{}
	case q.settings.Concurrency > 0 && q.running >= q.settings.Concurrency:
		return LimitConcurrency, time.Time{}
	case !q.hasReady(): // a node without permits requests none while no lane needs them
		by, end := pl.waitsFor(q.lanes[slices.IndexFunc(q.lanes, (*lane).busy)])
		return by, pl.endAt(end, now)
	case q.full(pl.monotonic):
		return LimitConcurrency, time.Time{}
	case q.needsToken() && at > pl.monotonic:
		return LimitRate, pl.endAt(at, now)
	case !q.node.inTree && !q.quarantineNode.inTree: // a limit has just ended, and the wake-up comes
		return NoLimit, time.Time{}
	case !pl.fits(q):
		return LimitSlots, time.Time{}
	}
	return NoLimit, time.Time{}
}

// fits reports whether there would be a slot for a task of q if q had its turn
// now.
func (pl *Planner) fits(q *queue) bool {
	left := pl.left()
	if q.quarantineNode.inTree && q.quarantineNode.cost.fit(&left) {
		return true
	}
	if !q.node.inTree {
		return false
	}
	q.namespace.divide(&left)
	return q.node.cost.fit(&left)
}

// overdue returns how many known tasks of l are due, and for how long the first
// of them has been due.
func (l *lane) overdue(now task.Millis) (n int, oldest time.Duration) {
	if n = l.dueBy(now, math.MaxInt); n > 0 {
		oldest = now.Sub(l.earliest())
	}
	return n, oldest
}

// dueBy counts the known tasks of l that are due at or before until, and stops
// at most. It visits only those tasks and their neighbours in the heap.
func (l *lane) dueBy(until task.Millis, most int) (n int) {
	items := l.order.items
	var count func(i int)
	count = func(i int) {
		if i >= len(items) || items[i].due > until || n >= most {
			return
		}
		n++
		count(2*i + 1)
		count(2*i + 2)
	}
	count(0)
	return n
}
