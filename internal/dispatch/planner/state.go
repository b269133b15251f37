package planner

import (
	"slices"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// Destination is the state of one host:port, as one namespace uses it.
type Destination struct {
	Namespace, Host string // host:port

	Breaker Breaker
	Until   time.Time // when its latest wait ends: breaker, requested delay, or local failure; zero means no wait

	Running int           // attempts under way
	Waiting int           // known tasks that wait
	Overdue int           // those that are due
	Oldest  time.Duration // for how long the first of them has been due
}

// Limit is the reason why due tasks of a queue wait.
type Limit string

// The limits. If several limits apply, the one that limitOf or waitsFor checks
// first is reported.
const (
	// noLimit means that no task is due, or that the next one is about to start
	// or waits for the quarantine slot.
	noLimit          Limit = ""
	LimitSuspended   Limit = "suspended"   // its namespace is suspended
	LimitPurge       Limit = "purge"       // a purge is under way
	LimitPause       Limit = "pause"       // the queue is paused
	LimitConcurrency Limit = "concurrency" // as many attempts are under way as the limit allows
	LimitRate        Limit = "rate"        // its tokens are used up
	// LimitRunner means that this node does not run the due tasks: it has no
	// handler for their kinds, or sends no requests.
	LimitRunner         Limit = "runner"
	LimitSlots          Limit = "slots"           // the node has no slot left for it
	LimitBreaker        Limit = "breaker"         // the breaker of its destination is not closed
	LimitRetryAfter     Limit = "retry_after"     // its receiver asked for a delay
	LimitPerDestination Limit = "per_destination" // the queue allows no more attempts at its destination
	LimitUnsent         Limit = "unsent"          // for a local reason, the last request to its destination was not sent
	LimitKind           Limit = "kind"            // as many tasks of its kind are running as the kind's limit allows
	LimitQuarantine     Limit = "quarantine"      // another task in quarantine runs
	LimitTurn           Limit = "turn"            // only its turn is missing: other tasks start first
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

// Destinations returns the state of each destination. It calls pause after each
// part of the walk, with the cost of the part in units of about 100 ns. During
// pause other goroutines can use the Planner, so the list is not a snapshot, but
// each of its members is consistent. Removed members are left out, and new
// members can be included. pause must return the time of the wall clock.
func (pl *Planner) Destinations(now time.Time, pause func(cost int) time.Time) (list []Destination) {
	for _, d := range pl.destinations {
		if d.key.destination == "" { // the destination of schedules
			continue
		}
		s := Destination{
			Namespace: d.key.namespace, Host: d.key.destination,
			Breaker: d.breaker.state(pl.monotonic), Running: d.running,
		}
		if until := d.waitsUntil(); until > pl.monotonic {
			s.Until = pl.wallAt(until, now)
		}
		now = walk(&d.lanes, now, pause, func(l *lane, overdue int, oldest time.Duration) {
			s.Waiting += l.order.len()
			s.Overdue, s.Oldest = s.Overdue+overdue, max(s.Oldest, oldest)
		})
		list = append(list, s)
	}
	return list
}

// Queues returns the state of each queue. For pause see Destinations.
func (pl *Planner) Queues(now time.Time, pause func(cost int) time.Time) (list []QueueState) {
	for _, q := range pl.queues {
		if q.key.name == task.ScheduleQueue {
			continue
		}
		s := QueueState{Namespace: q.key.namespace, Name: q.key.name, Running: q.running}
		now = walk(&q.lanes, now, pause, func(l *lane, overdue int, oldest time.Duration) {
			s.Waiting += l.order.len()
			s.Overdue, s.Oldest = s.Overdue+overdue, max(s.Oldest, oldest)
		})
		s.Limit, s.Next = pl.limitOf(q, now)
		list = append(list, s)
	}
	return list
}

// walk calls add, then pause, for each lane. The list can change during pause.
// The result is the last one of pause.
func walk(lanes *[]*lane, now time.Time, pause func(cost int) time.Time, add func(l *lane, overdue int, oldest time.Duration)) time.Time {
	for i := 0; i < len(*lanes); i++ {
		l := (*lanes)[i]
		overdue, oldest := l.overdue(task.FloorMillis(now))
		add(l, overdue, oldest)
		now = pause(1 + overdue)
	}
	return pause(1)
}

// wallAt converts a time of the monotonic clock. now is the time of the wall
// clock.
func (pl *Planner) wallAt(monotonic time.Duration, now time.Time) time.Time {
	return now.Add(monotonic - pl.monotonic).Round(0)
}

// endAt returns the wall time of the end of a reason; zero means never, or
// unknown.
func (pl *Planner) endAt(end time.Duration, now time.Time) time.Time {
	if end == 0 || end == nowhen {
		return time.Time{}
	}
	return pl.wallAt(end, now)
}

// limitOf returns the reason why tasks of q wait, and the end of that reason.
func (pl *Planner) limitOf(q *queue, now time.Time) (Limit, time.Time) {
	if by, until := pl.heldBy(task.Lane{Namespace: q.key.namespace, Queue: q.key.name, Priority: task.Normal}, now); by != noLimit {
		return by, until
	}
	switch at := q.token(pl.monotonic); {
	case q.busy == 0:
		return noLimit, time.Time{}
	case q.settings.Concurrency > 0 && q.running >= q.settings.Concurrency:
		return LimitConcurrency, time.Time{}
	case !q.hasReady(): // no lane is ready, so the queue needs no permits: report what the first busy lane waits for
		by, end := pl.waitsFor(q.lanes[slices.IndexFunc(q.lanes, (*lane).busy)])
		return by, pl.endAt(end, now)
	case q.full(pl.monotonic):
		return LimitConcurrency, time.Time{}
	case q.needsToken() && at > pl.monotonic:
		return LimitRate, pl.endAt(at, now)
	case !q.node.inTree && !q.quarantineNode.inTree: // a limit has just ended, but its wake-up has not come yet
		return noLimit, time.Time{}
	case !pl.choose.fits(q):
		return LimitSlots, time.Time{}
	}
	return noLimit, time.Time{}
}

// WaitsFor returns why a due task of a lane does not start, and when that
// reason ends by itself; zero means never, or unknown. Another reason can
// follow. For a lane that is not known yet, the result is a hold by the
// settings, LimitRunner, or otherwise LimitTurn.
func (pl *Planner) WaitsFor(name task.Lane, now time.Time) (by Limit, until time.Time) {
	if by, until = pl.heldBy(name, now); by != noLimit {
		return by, until
	}
	l := pl.lanes[name]
	if l == nil {
		if _, runs := pl.runs(destinationKey{name.Namespace, name.Destination}); !runs {
			return LimitRunner, time.Time{}
		}
		return LimitTurn, time.Time{}
	}
	by, end := pl.waitsFor(l)
	return by, pl.endAt(end, now)
}

// heldBy returns the setting that holds the tasks of a lane, and its end.
func (pl *Planner) heldBy(l task.Lane, now time.Time) (by Limit, until time.Time) {
	by = Limit(pl.settings.Hold(l, task.FloorMillis(now)))
	if end := pl.settings.Queue(l.Namespace, l.Queue).PausedUntil; by == Limit(settings.HeldByPause) && end != 0 {
		until = end.Time()
	}
	return by, until
}

// waitsFor is WaitsFor for a lane that no setting holds.
func (pl *Planner) waitsFor(l *lane) (by Limit, until time.Duration) {
	q, k := l.queue, l.destination.kind
	if by, until = pl.blocks(l); by != noLimit {
		return by, until
	}
	switch at := q.token(pl.monotonic); {
	case q.full(pl.monotonic):
		return LimitConcurrency, 0
	case !l.urgent() && at > pl.monotonic:
		return LimitRate, at
	case l.quarantined() && pl.choose.quarantine.taken:
		return LimitQuarantine, 0
	case k != nil && k.atOnce > 0 && k.running >= k.atOnce:
		return LimitKind, 0
	case l.node.inTree && !pl.choose.hasSlot(l):
		return LimitSlots, 0
	}
	return LimitTurn, 0
}
