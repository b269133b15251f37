package classic

import (
	"sync"
	"time"
)

// Rounds is the hashed wheel with rounds: one ring of slots, with a slot for
// each tick. Each timer has the number of turns that it still has to wait. This
// is scheme 6 of Varghese and Lauck ("Hashed and Hierarchical Timing Wheels",
// 1987) and the design of Netty's HashedWheelTimer. Add and Remove are O(1),
// but each turn of the wheel visits every timer. In Netty, callers put timers
// into a queue, and its thread takes up to 100,000 in each tick. Here a timer
// goes into its slot at once.
//
// A timer is never early, as in Netty: the slot of a tick is handled when that
// tick has ended, so a timer is late by up to one tick. The goroutine wakes up
// for every tick, even if no timer is pending.
type Rounds struct {
	driver
	tick time.Duration

	mu    sync.Mutex // guards everything below
	slots []list     // a power of two
	next  int64      // the first tick with a slot that was not handled yet
	n     int
}

// NewRounds returns an empty wheel and starts its goroutine. slots must be a
// power of two.
func NewRounds(tick time.Duration, slots int) *Rounds {
	if tick <= 0 || slots <= 0 || slots&(slots-1) != 0 {
		panic("classic: NewRounds needs a tick above 0 and a power of two of slots")
	}
	r := &Rounds{driver: newDriver(), tick: tick, slots: make([]list, slots)}
	r.start(r.pass)
	return r
}

// Add calls f after d.
func (r *Rounds) Add(d time.Duration, f func()) *Timer {
	t := &Timer{f: f, when: r.tickOf(d)}
	r.mu.Lock()
	r.placeLocked(t)
	r.n++
	r.mu.Unlock()
	return t
}

// Remove removes t, and reports whether it was pending.
func (r *Rounds) Remove(t *Timer) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.list == nil {
		return false
	}
	t.unlink()
	r.n--
	return true
}

// Reset makes t fire after d from now if it is pending. It reports whether t
// was pending.
func (r *Rounds) Reset(t *Timer, d time.Duration) bool {
	when := r.tickOf(d)
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.list == nil {
		return false
	}
	t.unlink()
	t.when = when
	r.placeLocked(t)
	return true
}

// Len returns the number of pending timers.
func (r *Rounds) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

// tickOf returns the tick that contains now + d.
func (r *Rounds) tickOf(d time.Duration) int64 { return int64(after(r.now(), d) / r.tick) }

func (r *Rounds) placeLocked(t *Timer) {
	t.when = max(t.when, r.next)
	turn := int64(len(r.slots))
	t.rounds = (t.when - r.next) / turn
	r.slots[t.when&(turn-1)].push(t)
}

// pass handles the slots of the ticks that have ended. It returns the time
// until the next tick ends.
func (r *Rounds) pass() time.Duration {
	for {
		r.mu.Lock()
		wait := time.Duration(r.next+1)*r.tick - r.now()
		if wait > 0 {
			r.mu.Unlock()
			return wait
		}
		due := r.turnLocked()
		r.mu.Unlock()
		due.call()
	}
}

// turnLocked takes out the due timers of the next slot, and counts a round for
// its other timers.
func (r *Rounds) turnLocked() (due chain) {
	for t := r.slots[r.next&int64(len(r.slots)-1)].first; t != nil; {
		next := t.next
		if t.rounds > 0 {
			t.rounds--
		} else {
			t.unlink()
			due.add(t)
		}
		t = next
	}
	r.next++
	r.n -= due.n
	return due
}
