package wheel

import (
	"sync/atomic"
	"time"
)

// The driver of a shard is one timer of package time, so it has no goroutine
// while nothing is due. When the timer fires, its goroutine makes a pass;
// running marks that there is one at a time. During a pass, no other goroutine
// arms the timer, because the end of the pass arms it for the earliest
// deadline. Outside of a pass, a goroutine that places an earlier timer arms
// it, under the lock, so armed is always the time that the timer is set for.

// cell is all that the runtime's timer refers to. While the shard is empty, the
// cell refers to nothing, so a wheel that is empty and unreferenced can be
// collected, although its timer may still be set.
type cell[T any] struct {
	shard atomic.Pointer[shard[T]] // nil while the shard is empty; written under the shard's lock, read by wake

	// missed is set by every wake-up and cleared under the shard's lock, by the
	// pass or by the add that sees it: the timer may have fired while the cell
	// was empty. wake sets missed before it reads shard; an add sets shard
	// before it reads missed, so one of the two ensures that the timer is set.
	missed atomic.Bool
}

func (c *cell[T]) wake() {
	c.missed.Store(true)
	if sh := c.shard.Load(); sh != nil {
		sh.pass()
	}
}

// occupiedLocked is called when the first timer is added to an empty shard.
func (sh *shard[T]) occupiedLocked() {
	sh.cell.shard.Store(sh)
	if !sh.running && sh.cell.missed.Load() {
		sh.cell.missed.Store(false)
		sh.armed = maxDuration
	}
}

// emptyLocked is called when the last timer has gone. The runtime's timer stays
// set, because the next add may need it.
func (sh *shard[T]) emptyLocked() { sh.cell.shard.Store(nil) }

// rearmLocked is called after a timer was placed that may be the earliest. It
// needs the driver at this time, since base.
func (sh *shard[T]) rearmLocked(at time.Duration) {
	if at < sh.armed && !sh.running {
		sh.armLocked(at)
	}
}

// armLocked sets the timer. If a deadline has passed already, the pass starts
// on a new goroutine at once. In a testing/synctest bubble, package time would
// otherwise call back on our own stack, and under the race detector two
// goroutines that do so at the same time end the process.
func (sh *shard[T]) armLocked(at time.Duration) {
	sh.armed = at
	d := at - time.Since(sh.base)
	if d <= 0 {
		go sh.cell.wake()
		return
	}
	if sh.timer == nil {
		sh.timer = time.AfterFunc(d, sh.cell.wake)
		return
	}
	sh.timer.Reset(d)
}
