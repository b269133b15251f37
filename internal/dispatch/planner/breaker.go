package planner

import (
	"fmt"
	"time"
)

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
func (b Breaker) String() string {
	if int(b) >= len(breakerNames) {
		return fmt.Sprintf("Breaker(%d)", uint8(b))
	}
	return breakerNames[b]
}

// firstRest is how long a breaker stays open the first time.
const firstRest = time.Second

// breaker stops attempts to a receiver that fails again and again: they would
// use up the tasks' attempts for nothing. It opens after some failures in a
// row. While it is open, it lets one attempt at a time through, after waits
// that double, until the receiver replies.
type breaker struct {
	open   bool
	since  time.Duration // when it opened; valid while open
	opened int           // how often in a row
	until  time.Duration // no attempt starts before this time; valid while open
	probe  uint64        // the number of the pick that decides; zero means that no such pick is under way
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
// chance is between 0 and 1. It shortens the wait by up to a quarter, so that
// receivers that failed at the same time are not all tried again at the same
// time.
func (b *breaker) trip(now, limit time.Duration, chance float64) {
	rest := limit
	if b.opened < 32 {
		rest = min(firstRest<<b.opened, limit)
	}
	if !b.open {
		b.since = now
	}
	b.open, b.probe = true, 0
	b.opened++
	b.until = now + rest - time.Duration(chance*float64(rest)/4)
}
