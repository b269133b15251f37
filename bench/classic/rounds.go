package classic

import "time"

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
	wheel
	tick  time.Duration
	slots []list // a power of two; guarded, as next is
	next  int64  // the first tick with a slot that was not handled yet
}

// NewRounds returns an empty wheel and starts its goroutine. slots must be a
// power of two.
func NewRounds(tick time.Duration, slots int) *Rounds {
	if tick <= 0 || slots <= 0 || slots&(slots-1) != 0 {
		panic("classic: NewRounds needs a tick above 0 and a power of two of slots")
	}
	r := &Rounds{wheel: wheel{driver: newDriver()}, tick: tick, slots: make([]list, slots)}
	r.when, r.place = r.tickOf, r.placeLocked
	r.start(r.pass)
	return r
}

// tickOf returns the tick that contains now + d.
func (r *Rounds) tickOf(d time.Duration) int64 { return int64(after(r.now(), d) / r.tick) }

func (r *Rounds) placeLocked(t *Timer) (earlier bool) {
	t.when = max(t.when, r.next)
	turn := int64(len(r.slots))
	t.rounds = (t.when - r.next) / turn
	r.slots[t.when&(turn-1)].push(t)
	return false
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
