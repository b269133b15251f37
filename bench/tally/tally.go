// Package tally counts the timers that fired, and measures their lateness.
package tally

import (
	"slices"
	"sync/atomic"
	"time"
)

// Tally records a known number of timers: when each is due, and when it fired.
// Any goroutine may call Fire and Func. Only the goroutine that sets the timers
// may call the other methods.
type Tally struct {
	base  time.Time
	slots []slot

	open    atomic.Int64 // timers that have not fired
	doubled atomic.Int64 // timers that fired again
	done    chan struct{}
}

// slot is the record of one timer.
type slot struct {
	tally *Tally
	due   atomic.Int64 // nanoseconds since the base
	fired atomic.Int64 // nanoseconds since the base, plus one; 0: it did not fire
}

// New returns a Tally of n timers. It expects that `expected` of them fire.
func New(n, expected int) *Tally {
	t := &Tally{base: time.Now(), slots: make([]slot, n), done: make(chan struct{})}
	for i := range t.slots {
		t.slots[i].tally = t
	}
	t.open.Store(int64(expected))
	return t
}

// Now returns the time since New.
func (t *Tally) Now() time.Duration { return time.Since(t.base) }

// Expect sets the due time of timer i. The timer must not fire earlier.
func (t *Tally) Expect(i int, due time.Duration) { t.slots[i].due.Store(int64(due)) }

// Func returns the callback of timer i. It is a closure of 16 bytes, like that
// of a typical program.
func (t *Tally) Func(i int) func() { return t.slots[i].fire }

// Fire records that timer i fired.
func (t *Tally) Fire(i int) { t.slots[i].fire() }

// FireAt is like Fire with a given time, for a batch of timers that share one
// reading of the clock.
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

// Wait waits until all expected timers have fired, at most for the time limit.
// It returns the number of missing timers.
func (t *Tally) Wait(limit time.Duration) (missing int) {
	select {
	case <-t.done:
	case <-time.After(limit):
	}
	return max(0, int(t.open.Load()))
}

// Fired reports whether timer i has fired.
func (t *Tally) Fired(i int) bool { return t.slots[i].fired.Load() != 0 }

// Count returns the number of timers that fired.
func (t *Tally) Count() (fired int) {
	for i := range t.slots {
		if t.Fired(i) {
			fired++
		}
	}
	return fired
}

// Doubled returns the number of repeated firings.
func (t *Tally) Doubled() int { return int(t.doubled.Load()) }

// Lateness is the distribution of the time from due to fired.
type Lateness struct {
	Early         int           // timers that fired before they were due
	Earliest      time.Duration // how early the worst of them was
	P50, P99, Max time.Duration // of all timers; early ones count as negative
}

// Lateness returns the distribution for the timers that fired.
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
