package wheel

import (
	"runtime"
	"time"
)

// pass fires the timers that are due. It never holds the lock for long: it
// releases the lock for every hand-over, and after stepBudget entries without
// one.
func (sh *shard[T]) pass() {
	sh.mu.Lock()
	if sh.running || sh.closed.Load() {
		sh.mu.Unlock()
		return
	}
	sh.running, sh.armed = true, maxDuration
	sh.cell.missed.Store(false)
	sh.count.wakeups++
	// A callback on this goroutine, or Run, may end the goroutine
	// (runtime.Goexit) or panic, so that another goroutine must do the rest.
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
	sh.endPassLocked()
	ended = true
	sh.mu.Unlock()
}

// endPassLocked ends the pass and arms the timer for the earliest deadline.
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

// stepBudget is how many entries are examined before the lock is released for a
// moment: about 50 µs of cascading.
const stepBudget = 4096

// stepLocked hands over the timers that it finds within one budget, and reports
// whether there may be more.
func (sh *shard[T]) stepLocked() (more bool) {
	if sh.closed.Load() {
		return false
	}
	budget := stepBudget
	m := sh.momentLocked()
	if m.hasWall && sh.setBack != nil && sh.wasSetBackLocked(&m) {
		sh.unlocked(func() { sh.setBack(sh) })
		return true
	}
	if sh.fireBatch != nil {
		more = sh.stepBatchLocked(&m, &budget)
	} else {
		more = sh.stepOneLocked(&m, &budget)
	}
	if !more && budget <= 0 {
		sh.unlocked(func() {})
		return true
	}
	return more
}

// yieldAfter is how many callbacks are started before the driver lets them run.
// If it started all due callbacks first, their goroutines would fill the
// scheduler's queues, and each would need a new stack: that costs five times as
// much.
const yieldAfter = 128

// stepOneLocked expires one timer and hands it over.
func (sh *shard[T]) stepOneLocked(m *moment, budget *int) bool {
	c, ok := sh.expireLocked(m, budget)
	if !ok {
		return false
	}
	v := c.take()
	sh.limit.free(1)
	number := sh.beginLocked(1)
	sh.unlocked(func() { sh.deliver(number, c.id, v) })
	return true
}

// deliver hands one timer over. The lock must not be held.
func (sh *shard[T]) deliver(number uint64, id ID, v T) {
	if sh.direct != nil && sh.direct(v) {
		sh.fire(id, v)
		sh.begun(number) // not before fire: Close waits for direct timers
		sh.finished()
		return
	}
	if sh.inline { // as below, without a closure for each timer
		sh.call(number, id, v)
		return
	}
	var lost func()
	if sh.dropped != nil {
		lost = func() { sh.dropped(id, v) }
	}
	sh.handOver(number, 1, func() { sh.call(number, id, v) }, lost)
	if number%yieldAfter == 0 {
		runtime.Gosched()
	}
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
	tick uint64        // the tick that contains mono

	hasWall  bool // timers of the wall clock are pending
	wall     time.Time
	wallTick uint64
}

func (sh *shard[T]) momentLocked() moment {
	m := moment{mono: time.Since(sh.base)}
	m.tick = sh.floor(m.mono)
	if sh.wall != nil && sh.wall.pending > 0 {
		m.hasWall, m.wall = true, sh.wallNow()
		m.wallTick = sh.wallFloor(m.wall)
		sh.adjustLocked(m.wallTick)
	}
	return m
}

// dueTimer is a timer that has ended because it is due. Its node is free
// already, but its value stays in its cell until take is called, which must be
// before the lock is released.
type dueTimer[T any] struct {
	id   ID
	wall bool // tick is one of the wall clock
	tick uint64
	late time.Duration
	cell *T
}

func (t *dueTimer[T]) take() T {
	v := *t.cell
	var zero T
	*t.cell = zero
	return v
}

// expireLocked expires one timer, and alternates between the clocks if both
// have due timers.
func (sh *shard[T]) expireLocked(m *moment, budget *int) (c dueTimer[T], ok bool) {
	if !m.hasWall {
		return sh.expireFromLocked(&sh.ticks, m, budget)
	}
	first, second := &sh.ticks, sh.wall
	if sh.wallFirst = !sh.wallFirst; sh.wallFirst {
		first, second = second, first
	}
	if c, ok = sh.expireFromLocked(first, m, budget); ok {
		return c, true
	}
	return sh.expireFromLocked(second, m, budget)
}

func (sh *shard[T]) expireFromLocked(h *hierarchy, m *moment, budget *int) (c dueTimer[T], ok bool) {
	now := m.tick
	if c.wall = h == sh.wall; c.wall {
		now = m.wallTick
	}
	index, tick, ok := h.expire(now, budget)
	if !ok {
		return c, false
	}
	if c.tick = tick; c.wall {
		c.late = m.wall.Sub(sh.wallInstant(tick))
	} else {
		c.late = m.mono - sh.instant(tick)
	}
	sh.late.record(c.late)
	n := sh.nodes.at(index)
	c.id = makeID(sh.number, n.generation(), index)
	c.cell = sh.values.at(index)
	if sh.expiring != nil {
		sh.expiring(sh, index)
	}
	sh.freeLocked(h, index)
	return c, true
}
