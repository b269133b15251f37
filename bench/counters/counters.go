// Package counters counts the timers or tasks that fired, and measures their
// lateness.
package counters

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/bench/metric"
)

// Counters records a known number of timers: when each is due, and when it
// fired. Any goroutine may call Fire, Func and Expect. Only the goroutine that
// sets the timers may call the other methods.
type Counters struct {
	base  time.Time
	slots []slot

	open    atomic.Int64 // timers that have not fired
	doubled atomic.Int64 // timers that fired again
	done    chan struct{}
}

// slot is the record of one timer.
type slot struct {
	counters *Counters
	due      atomic.Int64 // nanoseconds since the base
	fired    atomic.Int64 // nanoseconds since the base, plus one; zero means that it did not fire
}

// New returns the Counters of n timers. It expects that `expected` of them
// fire.
func New(n, expected int) *Counters {
	c := &Counters{base: time.Now(), slots: make([]slot, n), done: make(chan struct{})}
	for i := range c.slots {
		c.slots[i].counters = c
	}
	c.open.Store(int64(expected))
	return c
}

// Now returns the time since New.
func (c *Counters) Now() time.Duration { return time.Since(c.base) }

// At returns the time from New to t.
func (c *Counters) At(t time.Time) time.Duration { return t.Sub(c.base) }

// Expect sets the due time of timer i. The timer must not fire earlier.
func (c *Counters) Expect(i int, due time.Duration) { c.slots[i].due.Store(int64(due)) }

// Func returns the callback of timer i. It is a closure of 16 bytes, like that
// of a typical program.
func (c *Counters) Func(i int) func() { return c.slots[i].fire }

// Fire records that timer i fired.
func (c *Counters) Fire(i int) { c.slots[i].fire() }

// FireAt is like Fire with a given time, for a batch of timers that share one
// reading of the clock.
func (c *Counters) FireAt(i int, now time.Duration) { c.slots[i].fireAt(now) }

func (s *slot) fire() { s.fireAt(s.counters.Now()) }

func (s *slot) fireAt(now time.Duration) {
	if !s.fired.CompareAndSwap(0, int64(now)+1) {
		s.counters.doubled.Add(1)
		return
	}
	if s.counters.open.Add(-1) == 0 {
		close(s.counters.done)
	}
}

// Wait waits until all expected timers have fired, at most for the time limit.
// It returns the number of missing timers.
func (c *Counters) Wait(limit time.Duration) (missing int) {
	select {
	case <-c.done:
	case <-time.After(limit):
	}
	return max(0, int(c.open.Load()))
}

// Fired reports whether timer i has fired.
func (c *Counters) Fired(i int) bool { return c.slots[i].fired.Load() != 0 }

// Judge stores the numbers of the timers that fired, were lost and fired again,
// and the lateness: the time from due to fired.
func (c *Counters) Judge(v metric.Values) {
	var late []time.Duration
	for i := range c.slots {
		if s := &c.slots[i]; s.fired.Load() != 0 {
			late = append(late, time.Duration(s.fired.Load()-1-s.due.Load()))
		}
	}
	v[metric.Fired], v[metric.Lost], v[metric.Doubled] = float64(len(late)), float64(max(0, c.open.Load())), float64(c.doubled.Load())
	v.Lateness(late)
}

// Span returns when the first and the last timer fired, and their rate per
// second.
func (c *Counters) Span() (first, last time.Duration, rate float64) {
	first = math.MaxInt64
	n := 0
	for i := range c.slots {
		if at := time.Duration(c.slots[i].fired.Load() - 1); at >= 0 {
			first, last = min(first, at), max(last, at)
			n++
		}
	}
	return first, last, float64(n-1) / (last - first).Seconds()
}
