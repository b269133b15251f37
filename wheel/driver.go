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

// armLocked sets the timer.
func (sh *shard[T]) armLocked(at time.Duration) {
	sh.armed = at
	d := max(0, at-time.Since(sh.base))
	if sh.timer == nil {
		sh.timer = time.AfterFunc(d, sh.cell.wake)
		return
	}
	sh.timer.Reset(d)
}

// pass fires what is due. It holds the lock for a bounded time: it lets go of it for every hand-over, and after stepBudget
// entries that led to none.
func (sh *shard[T]) pass() {
	sh.mu.Lock()
	if sh.running || sh.closed.Load() {
		sh.mu.Unlock()
		return
	}
	sh.running, sh.armed = true, maxDuration
	sh.cell.missed.Store(false)
	sh.count.wakeups++
	before := sh.handOvers
	// A callback on this goroutine, or Run, may end it (runtime.Goexit) or panic. Then the rest is for a new one.
	ended := false
	defer func() {
		if !ended && sh.outside {
			sh.mu.Lock()
			sh.outside = false
			sh.endPassLocked()
			sh.mu.Unlock()
		}
	}()
	for sh.stepLocked() {
	}
	if sh.handOvers == before {
		sh.count.spurious++
	}
	sh.endPassLocked()
	ended = true
	sh.mu.Unlock()
}

// endPassLocked lets go of the pass and arms the timer for what is then the earliest.
func (sh *shard[T]) endPassLocked() {
	sh.running = false
	if sh.lenLocked() == 0 {
		sh.emptyLocked()
		return
	}
	if sh.closed.Load() {
		return
	}
	at := maxDuration
	if tick, ok := sh.ticks.next(); ok {
		at = sh.instant(tick)
	}
	if sh.wall != nil && sh.wall.pending > 0 {
		at = min(at, sh.wallWakeLocked(time.Since(sh.base)))
	}
	sh.armLocked(at)
}

// stepBudget is how many entries are looked at before the lock is let go for a moment: about 50 µs of cascading.
const stepBudget = 4096

// stepLocked hands over what it finds within one budget. It reports whether there may be more.
func (sh *shard[T]) stepLocked() bool {
	if sh.closed.Load() {
		return false
	}
	budget := stepBudget
	m := sh.momentLocked()
	if sh.fireBatch != nil {
		return sh.stepBatchLocked(m, &budget)
	}
	c, ok := sh.claimLocked(m, &budget)
	switch {
	case ok:
		v := sh.endLocked(c)
		number := sh.beginLocked(1)
		sh.unlocked(func() { sh.handOverOne(number, v) })
		return true
	case budget <= 0:
		sh.unlocked(func() {})
		return true
	}
	return false
}

// unlocked calls f without the lock.
func (sh *shard[T]) unlocked(f func()) {
	sh.outside = true
	sh.mu.Unlock()
	f()
	sh.mu.Lock()
	sh.outside = false
}

// moment is one reading of the clocks.
type moment struct {
	mono time.Duration // since base
	wall time.Time     // zero while no timer of the wall clock is pending
}

func (sh *shard[T]) momentLocked() moment {
	m := moment{mono: time.Since(sh.base)}
	if sh.wall != nil && sh.wall.pending > 0 {
		m.wall = sh.wallNow()
	}
	return m
}

// claimed is a timer that has ended because it is due.
type claimed struct {
	home  *hierarchy
	index uint32
	tick  uint64
	late  time.Duration
}

// claimLocked claims one timer of either clock. If both have timers, they take turns to be first.
func (sh *shard[T]) claimLocked(m moment, budget *int) (c claimed, ok bool) {
	if m.wall.IsZero() {
		return sh.claimTickLocked(m, budget)
	}
	sh.wallFirst = !sh.wallFirst
	if sh.wallFirst {
		if c, ok = sh.claimWallLocked(m, budget); ok {
			return c, true
		}
		return sh.claimTickLocked(m, budget)
	}
	if c, ok = sh.claimTickLocked(m, budget); ok {
		return c, true
	}
	return sh.claimWallLocked(m, budget)
}

func (sh *shard[T]) claimTickLocked(m moment, budget *int) (c claimed, ok bool) {
	c.home = &sh.ticks
	if c.index, c.tick, ok = sh.ticks.claim(sh.floor(m.mono), budget); ok {
		c.late = m.mono - sh.instant(c.tick)
	}
	return c, ok
}

func (sh *shard[T]) claimWallLocked(m moment, budget *int) (c claimed, ok bool) {
	now := sh.wallFloor(m.wall)
	sh.adjustLocked(now)
	c.home = sh.wall
	if c.index, c.tick, ok = sh.wall.claim(now, budget); ok {
		c.late = m.wall.Sub(sh.wallInstant(c.tick))
	}
	return c, ok
}

// endLocked takes a claimed timer's value and frees its node.
func (sh *shard[T]) endLocked(c claimed) T {
	v := sh.values.take(c.index)
	sh.freeLocked(c.home, c.index, sh.nodes.at(c.index))
	sh.limit.free(1)
	sh.late.record(c.late)
	return v
}

// handOverOne gives the callback for one value to Run.
func (sh *shard[T]) handOverOne(number uint64, v T) {
	sh.handOver(number, 1, func() { sh.call(number, v) })
}
