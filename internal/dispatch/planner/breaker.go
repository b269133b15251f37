package planner

import (
	"fmt"
	"time"
)

// Breaker is the state of a destination's breaker.
type Breaker uint8

// The states.
const (
	Closed   Breaker = iota // attempts start as they are due
	Open                    // none starts: the destination has failed too often in a row
	HalfOpen                // one starts, and its end decides
)

var breakerNames = [...]string{Closed: "closed", Open: "open", HalfOpen: "half-open"}

// String returns the state's word.
func (b Breaker) String() string {
	if int(b) >= len(breakerNames) {
		return fmt.Sprintf("Breaker(%d)", uint8(b))
	}
	return breakerNames[b]
}

// firstRest is how long a breaker is open the first time.
const firstRest = time.Second

// breaker keeps attempts from a receiver that fails one after the other: they
// would be burnt. It opens after some failures in a row, then lets one attempt
// at a time try, after waits that double, until one brings a reply.
type breaker struct {
	open   bool
	since  time.Duration // valid while open: when it opened
	opened int           // times in a row
	until  time.Duration // valid while open: no attempt before
	probe  uint64        // the number of the pick that decides, 0: none is under way
}

// state returns what the breaker is at now.
func (b *breaker) state(now time.Duration) Breaker {
	switch {
	case !b.open:
		return Closed
	case now < b.until:
		return Open
	}
	return HalfOpen
}

// trip opens the breaker, for twice as long as the last time. chance, between 0
// and 1, keeps receivers that failed in one moment from being tried in one.
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
