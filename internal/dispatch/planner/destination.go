package planner

import "time"

// destination is a host and port to which a namespace sends, and the lanes that
// lead there. Each attempt's result counts for all these lanes. If one
// namespace has trouble with a shared receiver, other namespaces are not
// affected.
type destination struct {
	key       destinationKey
	number    uint64
	namespace *namespace
	lanes     []*lane

	inNamespace int // its index in the namespace's list
	update      laneUpdate
	wakeup      Wakeup // set for the end of the next of the waits below

	kind         *kind // nil: it is a receiver
	runs         bool  // this process runs its tasks: it sends requests, or has a handler for them
	class        class
	silences     int // attempts in a row that ended without a reply
	failures     int // attempts in a row that ended without a reply, or with a status that means trouble
	running      int
	breaker      breaker
	retryAt      time.Duration // the receiver asked for no request before this time
	delayedSince time.Duration // the start of the unbroken series of such delays; valid if retryAt is set
	rested       time.Duration // we could not send, and do not try again before this time
	lastReply    time.Duration // when the latest attempt ended
}

type destinationKey struct{ namespace, destination string }

// doubtAfter is how many attempts in a row must end without a reply before a
// proven receiver becomes suspect. One lost connection in a thousand says
// nothing about the receiver.
const doubtAfter = 3

// blocks returns why l must wait for its destination, and the end of that wait;
// zero means unknown. A task that was run by hand waits neither for a delay that
// the receiver asked for nor for a breaker, because it counts as a probe.
func (t *destination) blocks(l *lane, now time.Duration) (by Limit, until time.Duration) {
	switch {
	case !t.runs:
		return LimitRunner, 0
	case now < t.rested:
		return LimitUnsent, t.rested
	case l.urgent():
	case now < t.retryAt:
		return LimitRetryAfter, t.retryAt
	case t.breaker.open && now < t.breaker.until:
		return LimitBreaker, t.breaker.until
	case t.breaker.open && t.breaker.probe != 0:
		return LimitBreaker, 0
	}
	return NoLimit, 0
}

// maxStartDelay is the longest time between the end of a receiver's delay and
// an attempt that waited for that delay alone.
const maxStartDelay = time.Second

// delayedFor returns for how long tasks have waited only because of the
// receiver: for its open breaker, or for an unbroken series of delays that it
// asked for. The time before free does not count, because until then a pause of
// the queue or an unavailable store delayed the tasks too.
func (t *destination) delayedFor(free, now time.Duration) time.Duration {
	since := now
	if t.breaker.open {
		since = t.breaker.since
	}
	if t.delayedBy(now) {
		since = min(since, t.delayedSince)
	}
	return max(now-max(since, free), 0)
}

// delayedBy reports whether an attempt that started at began had to wait for a
// delay that the receiver asked for.
func (t *destination) delayedBy(began time.Duration) bool {
	return t.retryAt != 0 && began <= t.retryAt+maxStartDelay
}

// postpone records that the receiver wants no request before until. Its reply
// belongs to an attempt that started at began. If that attempt had to wait for
// an earlier delay, the new delay extends the series of the earlier one.
// recordAttempt ends a series when the receiver accepts a request.
func (t *destination) postpone(began, now, until time.Duration) {
	switch {
	case t.delayedBy(began):
	case t.breaker.open: // this reply closes it
		t.delayedSince = t.breaker.since
	default:
		t.delayedSince = now
	}
	t.retryAt = until
}

// next returns when the next wait ends, or 0 if there is none.
func (t *destination) next(now time.Duration) time.Duration {
	next := time.Duration(0)
	earlier := func(at time.Duration) {
		if at > now && (next == 0 || at < next) {
			next = at
		}
	}
	earlier(t.rested)
	earlier(t.retryAt)
	if t.breaker.open {
		earlier(t.breaker.until)
	}
	return next
}

// closedUntil returns the latest of three ends: of t.rested, of the delay that
// the receiver asked for, and of an open breaker. Only the first one stops
// tasks that were run by hand. If the result is at most now, all three are
// over.
func (t *destination) closedUntil() time.Duration {
	until := max(t.rested, t.retryAt)
	if t.breaker.open {
		until = max(until, t.breaker.until)
	}
	return until
}

// recordAttempt applies the end of an attempt. It reports whether the
// destination's lanes must be placed again.
func (t *destination) recordAttempt(p *Pick, e Evidence, now time.Duration, r Config) bool {
	class, before := t.class, t.breaker
	t.lastReply = now
	if t.kind != nil {
		return false // a failure of a handler is about its task
	}
	switch e {
	case Replied, Deferred:
		t.failures, t.silences, t.class = 0, 0, proven
		if e == Replied {
			t.delayedSince = now // the receiver accepts requests again
		}
	case Failing:
		t.failures, t.silences, t.class = t.failures+1, 0, proven
	case Silent:
		t.failures, t.silences = t.failures+1, t.silences+1
		if t.class == unknown || t.silences >= doubtAfter {
			t.class = suspect
		}
	}
	t.breaker = t.decide(p, e, now, r)
	return t.class != class || t.breaker != before
}

// decide returns the new state of the breaker. If an attempt began before the
// breaker opened, its failure does not extend the wait, but its reply closes
// the breaker.
func (t *destination) decide(p *Pick, e Evidence, now time.Duration, r Config) breaker {
	b := t.breaker
	probe := p.probe != 0 && p.probe == b.probe
	if probe {
		b.probe = 0
	}
	switch {
	case e == Replied || e == Deferred:
		return breaker{}
	case e != Failing && e != Silent:
		return b // another attempt may be the probe
	case probe, !b.open && r.BreakAfter > 0 && t.failures >= r.BreakAfter:
		b.trip(now, r.BreakMost, chance(t.number+uint64(b.opened)<<32))
	}
	return b
}

// chance returns a pseudo-random number between 0 and 1 for n.
func chance(n uint64) float64 { return float64(scatter(n)) / (1 << 32) }
