package planner

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// destination is a receiver (host and port) or a kind of handler, as one
// namespace uses it, with its lanes. Each attempt's result counts for all these
// lanes, but not for other namespaces that use the same receiver.
type destination struct {
	key       destinationKey
	number    uint64
	namespace *namespace
	lanes     []*lane

	inNamespace int // its index in the namespace's list
	update      update
	wakeup      Wakeup // set for when the next wait below ends

	kind         *kind // nil: it is a receiver
	runs         bool  // this node runs its tasks: it sends requests, or has a handler for them
	class        class
	silences     int // attempts in a row that ended without a reply
	failures     int // attempts in a row that ended without a reply, or with a status that means trouble
	running      int
	breaker      breaker
	retryAt      time.Duration // the receiver asked for no request before this time
	delayedSince time.Duration // the start of the unbroken series of such delays; valid if retryAt is set
	restUntil    time.Duration // for a local reason nothing could be sent; no attempt starts before this time
	lastEnd      time.Duration // when the latest attempt ended
}

type destinationKey struct{ namespace, destination string }

// doubtAfter is how many attempts in a row must end without a reply before a
// proven receiver becomes suspect. One lost connection in a thousand says
// nothing about the receiver.
const doubtAfter = 3

// blocks returns why l must wait for its destination, and the end of that wait;
// zero means unknown. A task that was run by hand waits neither for a delay that
// the receiver asked for nor for a breaker, because it counts as a probe.
func (d *destination) blocks(l *lane, now time.Duration) (by Limit, until time.Duration) {
	switch {
	case !d.runs:
		return LimitRunner, 0
	case now < d.restUntil:
		return LimitUnsent, d.restUntil
	case l.urgent():
	case now < d.retryAt:
		return LimitRetryAfter, d.retryAt
	case d.breaker.open && now < d.breaker.until:
		return LimitBreaker, d.breaker.until
	case d.breaker.open && d.breaker.probe != 0:
		return LimitBreaker, 0
	}
	return noLimit, 0
}

// maxStartDelay is the longest time between the end of a receiver's delay and
// an attempt that waited for that delay alone.
const maxStartDelay = time.Second

// delayedFor returns for how long tasks have waited only because of the
// receiver: for its open breaker, or for an unbroken series of delays that it
// asked for. The time before free does not count, because until then a pause of
// the queue or an unavailable store delayed the tasks too.
func (d *destination) delayedFor(free, now time.Duration) time.Duration {
	since := now
	if d.breaker.open {
		since = d.breaker.since
	}
	if d.delayedBy(now) {
		since = min(since, d.delayedSince)
	}
	return max(now-max(since, free), 0)
}

// delayedBy reports whether an attempt that started at began had to wait for a
// delay that the receiver asked for.
func (d *destination) delayedBy(began time.Duration) bool {
	return d.retryAt != 0 && began <= d.retryAt+maxStartDelay
}

// postpone records that the receiver wants no request before until. began is
// when the attempt of that reply started. If it had to wait for an earlier
// delay, the series of delays continues. The series ends when the receiver
// accepts a request: see attempted.
func (d *destination) postpone(began, now, until time.Duration) {
	switch {
	case d.delayedBy(began):
	case d.breaker.open: // this reply closes it
		d.delayedSince = d.breaker.since
	default:
		d.delayedSince = now
	}
	d.retryAt = until
}

// next returns when the next wait ends, or 0 if there is none.
func (d *destination) next(now time.Duration) time.Duration {
	next := time.Duration(0)
	earlier := func(at time.Duration) {
		if at > now && (next == 0 || at < next) {
			next = at
		}
	}
	earlier(d.restUntil)
	earlier(d.retryAt)
	if d.breaker.open {
		earlier(d.breaker.until)
	}
	return next
}

// waitsUntil returns the latest of three ends: of d.restUntil, of the delay
// that the receiver asked for, and of an open breaker. Only the first one stops
// tasks that were run by hand. If the result is at most now, all three are
// over.
func (d *destination) waitsUntil() time.Duration {
	until := max(d.restUntil, d.retryAt)
	if d.breaker.open {
		until = max(until, d.breaker.until)
	}
	return until
}

// attempted applies the end of an attempt at d, whose outcome is cause. It
// reports whether the lanes of d must be placed again.
func (l *limits) attempted(d *destination, p *Pick, e Evidence, now time.Duration, cause *task.Outcome) bool {
	class, before := d.class, d.breaker
	d.lastEnd = now
	if d.kind != nil {
		return false // a failure of a handler is about its task
	}
	switch e {
	case Replied, Snoozed:
		d.failures, d.silences, d.class = 0, 0, proven
		if e == Replied {
			d.delayedSince = now // the receiver accepts requests again
		}
	case Failing:
		d.failures, d.silences, d.class = d.failures+1, 0, proven
	case Silent:
		d.failures, d.silences = d.failures+1, d.silences+1
		if d.class == unknown || d.silences >= doubtAfter {
			d.class = suspect
		}
	}
	d.breaker = l.decide(d, p, e, now)
	l.recordBreaker(d, before, now, cause)
	return d.class != class || d.breaker != before
}

// decide returns the new state of the breaker of d. If an attempt began before
// the breaker opened, its failure does not extend the wait. But its reply
// closes the breaker, unless the status is a failing one.
func (l *limits) decide(d *destination, p *Pick, e Evidence, now time.Duration) breaker {
	b := d.breaker
	probe := p.probe != 0 && p.probe == b.probe
	if probe {
		b.probe = 0
	}
	switch {
	case e == Replied || e == Snoozed:
		return breaker{}
	case e != Failing && e != Silent:
		return b // another attempt may be the probe
	case probe, !b.open && l.breakAfter > 0 && d.failures >= l.breakAfter:
		b.trip(now, l.breakMost, chance(d.number+uint64(b.trips)<<32))
	}
	return b
}

// chance returns a pseudo-random number between 0 and 1 for n.
func chance(n uint64) float64 { return float64(scatter(n)) / (1 << 32) }

// Breaker is the state of a destination's breaker.
type Breaker uint8

// The states of a breaker.
const (
	Closed   Breaker = iota // attempts start when they are due
	Open                    // no attempt starts: too many in a row have failed
	HalfOpen                // one attempt starts, and its end decides
)

var breakerNames = [...]string{Closed: "closed", Open: "open", HalfOpen: "half-open"}

// String returns the name of the state, as metrics and the API use it.
func (b Breaker) String() string { return breakerNames[min(int(b), len(breakerNames)-1)] }

// firstRest is how long a breaker stays open the first time.
const firstRest = time.Second

// breaker stops attempts to a receiver that fails again and again, because they
// would use up the tasks' attempts for nothing. It opens after some failures in
// a row. While it is open, it lets one attempt through after each wait, and
// each wait is twice as long as the last, up to a limit. A reply without a
// failing status closes it.
type breaker struct {
	open  bool
	since time.Duration // when it opened; valid while open
	trips int           // how often it opened since it was last closed
	until time.Duration // no attempt starts before this time; valid while open
	probe uint64        // the number of the pick that decides; zero means that no such pick is under way
}

// state returns the state of the breaker at now.
func (b *breaker) state(now time.Duration) Breaker {
	switch {
	case !b.open:
		return Closed
	case now < b.until:
		return Open
	}
	return HalfOpen
}

// trip opens the breaker for twice as long as the last time, at most limit.
// chance, between 0 and 1, shortens the wait by up to a quarter, so that
// receivers that failed at the same time are not all tried again at once.
func (b *breaker) trip(now, limit time.Duration, chance float64) {
	rest := limit
	if b.trips < 32 {
		rest = min(firstRest<<b.trips, limit)
	}
	if !b.open {
		b.since = now
	}
	b.open, b.probe = true, 0
	b.trips++
	b.until = now + rest - time.Duration(chance*float64(rest)/4)
}

// BreakerChange describes a breaker that opened or closed.
type BreakerChange struct {
	Namespace, Destination string

	Open     bool
	Failures int           // if it opened: attempts in a row that failed
	Rest     time.Duration // if it opened: the wait until an attempt tries the receiver
	Lasted   time.Duration // if it closed: how long it was open
	Cause    *task.Outcome // the outcome of the attempt that changed it; nil means that the Planner forgot the receiver
}

// recordBreaker records a BreakerChange if the breaker of d has opened or
// closed, where before is its earlier state. cause is the outcome of the
// attempt that changed it, or nil.
func (l *limits) recordBreaker(d *destination, before breaker, now time.Duration, cause *task.Outcome) {
	b := &d.breaker
	if b.open == before.open {
		return
	}
	c := BreakerChange{Namespace: d.key.namespace, Destination: d.key.destination, Open: b.open, Cause: cause}
	if b.open {
		l.broken++
		c.Failures, c.Rest = d.failures, b.until-now
	} else {
		l.broken--
		c.Lasted = now - before.since
	}
	l.breakers = append(l.breakers, c)
}
