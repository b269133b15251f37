package wheel

import "time"

// Timers of the wall clock are in a hierarchy of their own, in ticks of the
// wall clock, so a step of that clock needs no conversion. After a step ahead
// (or after the machine was suspended, while the monotonic clock stood still),
// the hierarchy advances further. Only after a step back, behind the cursor,
// must it place its entries again.
//
// The runtime's timers use the monotonic clock, however. So while timers of the
// wall clock are pending, the driver reads that clock at least every
// wallCheck, at O(1) cost, and notices a step within that time.
const wallCheck = 30 * time.Second

// A schedule depends on the wall clock twice: at its instant, and when its next
// function was asked for that instant. If the clock was set back since then,
// the schedule must ask again, so the driver compares the two clocks.
//
// smallStep is the largest step that is ignored. The clock loses less in
// wallCheck if its rate is adjusted.
const smallStep = 100 * time.Millisecond

// aheadOf returns how much the wall clock is ahead of the monotonic clock since
// the base.
func (s *settings[T]) aheadOf(wall time.Time, mono time.Duration) time.Duration {
	return wall.Sub(s.base.Round(0).Add(mono))
}

func (s *settings[T]) clocks() (mono, ahead time.Duration) {
	mono = s.now()
	return mono, s.aheadOf(s.wallNow(), mono)
}

// wasSetBackLocked reports whether the wall clock was set back since the last
// call.
func (sh *shard[T]) wasSetBackLocked(m *moment) bool {
	ahead := sh.aheadOf(m.wall, m.mono)
	was := ahead < sh.ahead-smallStep
	if was || ahead > sh.ahead {
		sh.ahead = ahead
	}
	return was
}

// addWallUnlock adds a timer for when.At, and releases the lock, which must be
// held.
func (sh *shard[T]) addWallUnlock(when When, v T) (ID, error) {
	tick := sh.wallTickLocked(when)
	id, err := sh.addLocked(sh.wall, tick, v)
	if err == nil {
		sh.rearmWallLocked()
	}
	sh.mu.Unlock()
	return id, err
}

// wallTickLocked returns the tick for when.At, and makes the hierarchy of the
// wall clock ready for it.
func (sh *shard[T]) wallTickLocked(when When) (tick uint64) {
	wall := sh.wallNow()
	now := sh.wallFloor(wall)
	if sh.setBack != nil {
		sh.ahead = max(sh.ahead, sh.aheadOf(wall, time.Since(sh.base))) // the driver, not an add, notices that it fell
	}
	if sh.wall == nil {
		h := newHierarchy(&sh.nodes, now, wallBit, turnLength)
		h.touch = sh.ticks.touch
		sh.wall = &h
	}
	sh.adjustLocked(now)
	sh.wall.catchUp(now)
	if tick = sh.wallCeil(when.At); tick > now {
		tick = sh.coarsen(tick, when.Slack)
	}
	return tick
}

// adjustLocked rewinds the hierarchy if the wall clock was set back.
func (sh *shard[T]) adjustLocked(now uint64) {
	if now < sh.wall.cursor {
		sh.wall.rewind(now)
	}
}

// rearmWallLocked is rearmLocked after a timer of the wall clock was placed.
func (sh *shard[T]) rearmWallLocked() { sh.rearmLocked(sh.wallWakeLocked(time.Since(sh.base))) }

// wallWakeLocked returns when the driver must read the wall clock next, since
// base.
func (sh *shard[T]) wallWakeLocked(now time.Duration) time.Duration {
	tick, ok := sh.wall.next()
	if !ok {
		return maxDuration
	}
	left := sh.wallInstant(tick).Sub(sh.wallNow())
	return now + min(max(0, left), wallCheck)
}
