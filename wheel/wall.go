package wheel

import "time"

// Timers of the wall clock stand in a hierarchy of their own that counts in ticks of the wall clock itself. So there is
// nothing to convert when that clock is stepped: stepped ahead (or after the machine was suspended, while the monotonic
// clock stood still) the hierarchy simply advances further, and only a step back, behind the cursor, makes it place its
// entries anew.
//
// The runtime's timers count on the monotonic clock, though. While such timers are pending the driver therefore looks at
// the wall clock at least every wallCheck, at O(1) cost, and a step is noticed within that time.
const wallCheck = 30 * time.Second

// addAtUnlock adds a timer for t by the wall clock. It is called with the lock held, and lets go of it.
func (sh *shard[T]) addAtUnlock(t time.Time, v T) (ID, error) {
	now := sh.wallFloor(sh.wallNow())
	if sh.wall == nil {
		h := newHierarchy(&sh.nodes, now, wallBit, turnLength)
		h.touch = sh.ticks.touch
		sh.wall = &h
	}
	sh.adjustLocked(now)
	sh.wall.catchUp(now)
	id, err := sh.addLocked(sh.wall, sh.wallCeil(t), v)
	if err == nil {
		sh.rearmLocked(sh.wallWakeLocked(time.Since(sh.base)))
	}
	sh.mu.Unlock()
	return id, err
}

// adjustLocked takes notice of a wall clock that was set back.
func (sh *shard[T]) adjustLocked(now uint64) {
	if now < sh.wall.cursor {
		sh.wall.rewind(now)
	}
}

// leaveWallLocked moves a timer from the wall clock to a tick of the monotonic one.
func (sh *shard[T]) leaveWallLocked(index uint32, n *node, tick uint64) {
	s := n.state.Load() // Extend leaves the state of such a timer alone
	sh.wall.forget(index, n, s)
	sh.ticks.add(index, n, n.generation(), tick)
	sh.wall.leave()
}

// wallWakeLocked returns when the driver has to look at the wall clock next, since base.
func (sh *shard[T]) wallWakeLocked(now time.Duration) time.Duration {
	tick, ok := sh.wall.next()
	if !ok {
		return maxDuration
	}
	left := sh.wallInstant(tick).Sub(sh.wallNow())
	return now + min(max(0, left), wallCheck)
}
