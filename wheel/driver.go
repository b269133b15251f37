package wheel

import (
	"sync/atomic"
	"time"
)

// The driver of a shard is one timer of package time. It has no goroutine while nothing is due; when it fires, its
// goroutine makes a pass. There is one pass at a time, flagged by running. During a pass nobody else arms the timer:
// its end does, for whatever is then the earliest. Outside of a pass whoever places an earlier timer arms it, under the
// lock, so that what the timer is set for and what armed says never differ for others.

// cell is all that the runtime's timer holds on to. While the shard is empty it holds nothing, so a wheel that is empty
// and forgotten can be collected, although its timer may still be set.
type cell[T any] struct {
	shard atomic.Pointer[shard[T]] // nil while the shard is empty; written under the shard's lock, read by wake

	// missed is set by every wake-up and cleared under the shard's lock, by the pass or by the add that sees it: the
	// timer may have fired while the cell was empty. wake sets it before it looks at shard, an add sets shard before
	// it looks at missed: so one of the two makes sure that the timer is set.
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

// emptyLocked is called when the last timer has gone. The runtime's timer stays set: the next add may need it.
func (sh *shard[T]) emptyLocked() { sh.cell.shard.Store(nil) }

// rearmLocked is called after a timer was placed that needs the driver at this time, since base: it may be the earliest.
func (sh *shard[T]) rearmLocked(at time.Duration) {
	if at < sh.armed && !sh.running {
		sh.armLocked(at)
	}
}

// armLocked sets the timer. What is due already gets its goroutine at once: in a testing/synctest bubble package time would
// call back on our own stack, and under the race detector two goroutines that do so at a time end the process.
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
