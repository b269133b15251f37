package planner

import "time"

// destination is where a namespace sends to: the lanes of one destination. What is
// learnt of a receiver holds for all of them; one namespace's trouble with a
// shared receiver is not another's.
type destination struct {
	key       destinationKey
	number    uint64
	namespace *namespace
	lanes     []*lane

	inNamespace int // its place in the namespace's list
	update      laneUpdate
	wakeup      Wakeup // for the next moment at which one of the waits below ends

	class    class
	silences int // attempts in a row that ended without a reply
	failures int // the same, and those that ended with a reply that speaks of trouble
	running  int
	breaker  breaker
	asked    time.Duration // the receiver wants nothing before
	wished   time.Duration // valid if asked is set: since when its wishes have followed each other
	rested   time.Duration // we could not send, and try no earlier
	heard    time.Duration // when an attempt ended last
}

type destinationKey struct{ namespace, destination string }

// doubtAfter is how many attempts in a row have to be silent before a receiver
// that has answered is a suspect: one lost connection in a thousand is no sign.
const doubtAfter = 3

// barred reports whether l has to wait for its destination, whatever its tasks are.
// What was run by hand goes past a breaker, as a probe of its own, and past a
// receiver's wish.
func (t *destination) barred(l *lane, now time.Duration) bool {
	if now < t.rested {
		return true
	}
	if l.urgent() {
		return false
	}
	return now < t.asked || t.breaker.open && (now < t.breaker.until || t.breaker.probe != 0)
}

// promptly is how soon after the end of a wish an attempt begins, if nothing but the wish
// kept it back.
const promptly = time.Second

// barredFor returns for how long nothing but its receiver has kept tasks back: an open
// breaker, or wishes one after the other. It counts from free on: until then something else
// kept them back, a pause of their queue or a store that was away.
func (t *destination) barredFor(free, now time.Duration) time.Duration {
	since := now
	if t.breaker.open {
		since = t.breaker.since
	}
	if t.wishes(now) {
		since = min(since, t.wished)
	}
	return max(now-max(since, free), 0)
}

// wishes reports whether an attempt that begins at a time had to wait for a wish until then.
func (t *destination) wishes(began time.Duration) bool {
	return t.asked != 0 && began <= t.asked+promptly
}

// postpone takes in that the receiver wants nothing before until. It said so to an attempt that
// began at a time. A wish that follows the one before prolongs it: the attempts between
// them brought nothing else.
func (t *destination) postpone(began, now, until time.Duration) {
	switch {
	case t.wishes(began):
	case t.breaker.open: // this reply closes it
		t.wished = t.breaker.since
	default:
		t.wished = now
	}
	t.asked = until
}

// next returns when the next wait ends, 0 for never.
func (t *destination) next(now time.Duration) time.Duration {
	next := time.Duration(0)
	earlier := func(at time.Duration) {
		if at > now && (next == 0 || at < next) {
			next = at
		}
	}
	earlier(t.rested)
	earlier(t.asked)
	if t.breaker.open {
		earlier(t.breaker.until)
	}
	return next
}

// closedUntil returns how long nothing but what was run by hand is sent; now or
// before, if something is.
func (t *destination) closedUntil() time.Duration {
	until := max(t.rested, t.asked)
	if t.breaker.open {
		until = max(until, t.breaker.until)
	}
	return until
}

// learn takes in the end of an attempt, and reports whether its lanes stand
// differently now.
func (t *destination) learn(p *Pick, e Evidence, now time.Duration, r Config) bool {
	class, before := t.class, t.breaker
	t.heard = now
	switch e {
	case Replied, Deferred:
		t.failures, t.silences, t.class = 0, 0, proven
		if e == Replied {
			t.wished = now // it takes something again
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

// decide returns what becomes of the breaker. Attempts that began before it
// opened do not prolong its wait when they fail, but a reply is a reply.
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
		return b // another may try
	case probe, !b.open && r.BreakAfter > 0 && t.failures >= r.BreakAfter:
		b.trip(now, r.BreakMost, chance(t.number+uint64(b.opened)<<32))
	}
	return b
}

// chance draws a number between 0 and 1 for n.
func chance(n uint64) float64 { return float64(scatter(n)) / (1 << 32) }
