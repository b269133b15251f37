// Package tally counts what fired, and how late.
package tally

import (
	"slices"
	"sync/atomic"
	"time"
)

// Tally is the account of a known number of timers: when each is due, and when it fired. Fire and Func may be used by any
// goroutine; the rest is for the one that set the timers.
type Tally struct {
	base  time.Time
	slots []slot

	open    atomic.Int64 // timers that have not fired
	doubled atomic.Int64 // timers that fired again
	done    chan struct{}
}

// slot is one timer's line.
type slot struct {
	tally *Tally
	due   atomic.Int64 // nanoseconds since the base
	fired atomic.Int64 // the same, plus one; 0: it has not
}

// New returns the account of n timers, of which expected shall fire.
func New(n, expected int) *Tally {
	t := &Tally{base: time.Now(), slots: make([]slot, n), done: make(chan struct{})}
	for i := range t.slots {
		t.slots[i].tally = t
	}
	t.open.Store(int64(expected))
	return t
}

// Now returns the time since the account was opened.
func (t *Tally) Now() time.Duration { return time.Since(t.base) }

// Expect says when timer i is due: no earlier than that may it fire.
func (t *Tally) Expect(i int, due time.Duration) { t.slots[i].due.Store(int64(due)) }

// Func returns the callback of timer i: a closure of 16 bytes, as a program's own would be.
func (t *Tally) Func(i int) func() { return t.slots[i].fire }

// Fire says that timer i has fired.
func (t *Tally) Fire(i int) { t.slots[i].fire() }

// FireAt is Fire with a reading of the clock, for a batch of timers that share one.
func (t *Tally) FireAt(i int, now time.Duration) { t.slots[i].fireAt(now) }

func (s *slot) fire() { s.fireAt(s.tally.Now()) }

func (s *slot) fireAt(now time.Duration) {
	if !s.fired.CompareAndSwap(0, int64(now)+1) {
		s.tally.doubled.Add(1)
		return
	}
	if s.tally.open.Add(-1) == 0 {
		close(s.tally.done)
	}
}

// Wait waits until all that shall fire has fired, or for as long as limit. It returns what is missing.
func (t *Tally) Wait(limit time.Duration) (missing int) {
	select {
	case <-t.done:
	case <-time.After(limit):
	}
	return max(0, int(t.open.Load()))
}

// Fired reports whether timer i has fired.
func (t *Tally) Fired(i int) bool { return t.slots[i].fired.Load() != 0 }

// Count returns how many of the timers have fired.
func (t *Tally) Count() (fired int) {
	for i := range t.slots {
		if t.Fired(i) {
			fired++
		}
	}
	return fired
}

// Doubled returns how often a timer fired that had fired before.
func (t *Tally) Doubled() int { return int(t.doubled.Load()) }

// Lateness is the distribution of how much later than due timers fired.
type Lateness struct {
	Early         int           // timers that fired before they were due
	Earliest      time.Duration // by how much the worst of them
	P50, P99, Max time.Duration // of all; an early timer counts as early as it was
}

// Lateness returns the distribution over the timers that have fired.
func (t *Tally) Lateness() Lateness {
	var all []time.Duration
	for i := range t.slots {
		if s := &t.slots[i]; s.fired.Load() != 0 {
			all = append(all, time.Duration(s.fired.Load()-1-s.due.Load()))
		}
	}
	if len(all) == 0 {
		return Lateness{}
	}
	slices.Sort(all)
	early, _ := slices.BinarySearch(all, 0)
	return Lateness{
		Early:    early,
		Earliest: max(0, -all[0]),
		P50:      all[len(all)/2],
		P99:      all[len(all)*99/100],
		Max:      all[len(all)-1],
	}
}
