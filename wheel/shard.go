package wheel

import (
	"sync"
	"sync/atomic"
	"time"
)

// shard is one part of a wheel: a table of nodes, a hierarchy for each of the
// two clocks, and a driver. It takes no other lock while it holds its own.
type shard[T any] struct {
	*settings[T]
	number uint32
	cell   *cell[T]

	closed  atomic.Bool   // set under mu; read without it by Extend and by hand-overs
	handing atomic.Uint64 // number of the hand-over under way, or 0; set under mu, cleared without it
	held    atomic.Int64  // hand-overs and callbacks under way; raised under mu, lowered without it

	mu         sync.Mutex // guards everything below
	nodes      table
	values     values[T]
	ticks      hierarchy     // timers of the monotonic clock, in ticks since base
	wall       *hierarchy    // timers of the wall clock, in ticks since 1970; nil until the first timer of that clock
	timer      *time.Timer   // wakes the driver; nil until the first add
	ahead      time.Duration // the highest aheadOf since the wall clock was last set back; unused without setBack
	caughtUp   time.Duration // the cursor is up to date until then, since base
	armed      time.Duration // the time that timer is set for, since base; maxDuration: not set
	running    bool          // a pass is under way: only the pass arms the timer
	outside    bool          // the pass has released the lock to hand over; only the pass uses it
	wallFirst  bool          // whether the wall clock is first, if both clocks have timers
	handOvers  uint64        // hand-overs so far
	handedOver chan struct{} // if not nil, closed when handing is cleared while closed
	quiet      chan struct{} // if not nil, closed when held reaches 0 after Close
	spare      []*batch[T]   // batches not in use
	count      counters
	late       lateness
}

// turnLength is how many entries of one slot are processed before later slots
// get their turn.
const turnLength = 1024

func newShard[T any](s *settings[T], number int) *shard[T] {
	sh := &shard[T]{settings: s, number: uint32(number), nodes: newTable(), armed: maxDuration}
	sh.ticks = newHierarchy(&sh.nodes, 0, 0, turnLength)
	if s.fire != nil {
		sh.ticks.touch = sh.values.touch
	}
	sh.cell = new(cell[T])
	return sh
}

// catchUpLocked moves the cursor to now, once in a tick.
func (sh *shard[T]) catchUpLocked(now time.Duration) {
	if now >= sh.caughtUp {
		tick := sh.floor(now)
		sh.ticks.catchUp(tick)
		sh.caughtUp = sh.instant(tick + 1)
	}
}

func (sh *shard[T]) lenLocked() int {
	n := sh.ticks.pending
	if sh.wall != nil {
		n += sh.wall.pending
	}
	return n
}

// hierarchyLocked returns the hierarchy in which the node is placed.
func (sh *shard[T]) hierarchyLocked(n *node) *hierarchy {
	if n.wall() != 0 {
		return sh.wall
	}
	return &sh.ticks
}

// addUnlock adds a timer of the monotonic clock, and releases the lock, which
// must be held.
func (sh *shard[T]) addUnlock(now time.Duration, tick uint64, v T) (ID, error) {
	sh.catchUpLocked(now)
	id, err := sh.addLocked(&sh.ticks, tick, v)
	if err == nil {
		sh.rearmLocked(sh.instant(sh.ticks.soonest))
	}
	sh.mu.Unlock()
	return id, err
}

// refuse counts a timer that is not set, and returns the reason.
func (sh *shard[T]) refuse() error {
	sh.refused.Add(1)
	if sh.closed.Load() {
		return ErrClosed
	}
	return ErrFull
}

func (sh *shard[T]) addLocked(h *hierarchy, tick uint64, v T) (ID, error) {
	if sh.closed.Load() {
		return 0, sh.refuse()
	}
	index, n, generation := sh.nodes.take()
	if n == nil {
		return 0, sh.refuse()
	}
	sh.values.put(index, v)
	h.add(index, n, generation, tick)
	sh.count.added++
	if sh.lenLocked() == 1 {
		sh.occupiedLocked()
	}
	return makeID(sh.number, generation, index), nil
}

// extend is Extend without the lock, and Reset to a tick that is not earlier.
// sure is false if only the lock can decide, or if the timer must be moved
// under it.
func (sh *shard[T]) extend(id ID, tick uint64, earlier bool) (ok, sure bool) {
	n := sh.nodes.find(id.index())
	if n == nil {
		return false, true
	}
	for {
		s := n.state.Load() // before meta: if the state is live, meta is at least as new
		meta := n.meta.Load()
		switch old := stateTick(s); {
		case !isLive(s) || generationOf(s, meta) != id.generation() || sh.closed.Load():
			return false, true
		case meta&wallBit != 0:
			return false, false
		case tick == old || tick < old && !earlier:
			return true, true
		case tick < old || epoch(tick) != epoch(old):
			return false, false
		}
		if n.state.CompareAndSwap(s, withTick(s, tick)) {
			return true, true
		}
	}
}

// reset moves a timer under the lock; not to an earlier time, unless earlier is
// set.
func (sh *shard[T]) reset(id ID, d time.Duration, earlier bool) bool {
	n, now := sh.nodes.live(id), sh.now()
	if n == nil {
		return false
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if !n.carries(id) || sh.closed.Load() {
		return false
	}
	if !earlier && d <= sh.leftLocked(n, now) {
		return true
	}
	sh.catchUpLocked(now)
	sh.resetLocked(&sh.ticks, id.index(), n, sh.after(now, d), earlier)
	return true
}

// resetLocked moves a pending timer to a tick of h; not to an earlier one,
// unless earlier is set. If that takes it from one clock to the other, no Extend
// may change its state at the same time: Extend locks the shard for a timer of
// the wall clock, and a Keyed has no Extend.
func (sh *shard[T]) resetLocked(h *hierarchy, index uint32, n *node, tick uint64, earlier bool) {
	sh.count.resets++
	if from := sh.hierarchyLocked(n); from == h {
		h.reset(index, n, tick, earlier)
	} else {
		from.markStale(index, n, n.state.Load())
		h.add(index, n, n.generation(), tick)
		from.leave()
	}
	if h == &sh.ticks {
		sh.rearmLocked(sh.instant(h.soonest))
	} else {
		sh.rearmWallLocked()
	}
}

// leftLocked returns the time until a pending timer is due.
func (sh *shard[T]) leftLocked(n *node, now time.Duration) time.Duration {
	tick := stateTick(n.state.Load())
	if n.wall() != 0 {
		return max(0, sh.wallInstant(tick).Sub(sh.wallNow()))
	}
	return max(0, sh.instant(tick)-now)
}

func (sh *shard[T]) remove(id ID) (v T, ok bool) {
	n := sh.nodes.find(id.index())
	if n == nil || !n.carries(id) { // before the lock, so that no other goroutine waits while this reads memory
		return v, false
	}
	sh.mu.Lock()
	if !n.carries(id) {
		sh.mu.Unlock()
		return v, false
	}
	v = sh.removeLocked(id.index(), n)
	sh.count.removed++
	sh.mu.Unlock()
	sh.limit.free(1)
	return v, true
}

// removeLocked ends a pending timer, but the caller counts it and frees its
// room in the limit.
func (sh *shard[T]) removeLocked(index uint32, n *node) T {
	v := sh.values.take(index)
	h := sh.hierarchyLocked(n)
	h.markStale(index, n, n.end())
	sh.freeLocked(h, index)
	return v
}

// freeLocked frees the node of a timer that has just ended.
func (sh *shard[T]) freeLocked(h *hierarchy, index uint32) {
	if released, ok := sh.nodes.free(index); ok {
		sh.values.release(released)
	}
	h.leave()
	if sh.lenLocked() == 0 {
		sh.lastFreedLocked()
	}
}

func (sh *shard[T]) lastFreedLocked() {
	if released, ok := sh.nodes.flushLastFreed(); ok {
		sh.values.release(released)
	}
	if !sh.running {
		sh.emptyLocked()
	}
}

func (sh *shard[T]) get(id ID) (v T, left time.Duration, ok bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	n := sh.nodes.live(id)
	if n == nil {
		return v, 0, false
	}
	return *sh.values.at(id.index()), sh.leftLocked(n, time.Since(sh.base)), true
}
