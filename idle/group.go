package idle

import (
	"sync"
	"syscall"
	"time"

	"github.com/foliot/foliot/wheel"
)

// Group watches connections: it asks a function about those that nobody used for a while, and closes them if told. Its methods may
// be called by any goroutine, also from `on`, but for Drain.
//
// One group may watch the connections of several listeners and servers; have one for each set of timeouts. A group without connections
// needs no attention: nothing wakes up, and one that is forgotten is collected.
type Group[C any] struct {
	// A connection has a seat, and while it is waiting a timer on core, for the earliest step in which something may be due. The driver
	// counts the steps, and sweeps: what is due goes into the lines, everything else gets a new timer. Workers take from the lines,
	// look again, and call `on`, all but that under the lock. So
	//
	//	waiting ──sweep, EvictIdlest, Drain──► queued ──worker──► asked ──Keep──► waiting
	//
	// and each of Untrack, Close and the verdict ends a connection once, since it does so under the lock.

	clock  *clock // written under mu
	on     func(C, Reason) Verdict
	limits limits
	kernel bool // all connections are asked for their ages
	start  time.Time

	mu       sync.Mutex // guards all that follows, and the group's part of its entries
	grid     grid
	elapsed  time.Duration // since start, when a step was taken last or could have been
	policy   policy
	pressure float64
	core     *wheel.Core[uint32] // of seats, in steps
	slots    slots[C]
	probe    *probe // made when first needed

	driver      *time.Timer            // calls tick; nil before the first connection
	onFire      func(wheel.ID, uint32) // appends to fired
	fired       []uint32               // what a sweep looks at
	warm        uint32                 // what it has read ahead, so that the compiler leaves that in
	driven      bool                   // it is set
	sweeping    bool
	queue       workQueue
	graceCloses graceCloses // what is closed after a grace
	workers     int
	outside     int    // of the workers, those that are in others' code
	budget      int    // how many may still be asked about in the present resolution
	budgetOf    uint64 // which one that is

	tracked  int
	closing  int // forgotten, but not yet closed
	draining bool
	closed   bool
	empty    chan struct{} // closed when the last connection has gone; nil if nobody waits
	stats    Stats
}

// New returns a group that asks `on`, which says whether to close or to keep. Config.Workers goroutines at most call it, without any
// lock, and never two at a time for one connection. It may call the group's methods but Drain; Untrack of the connection that it was
// called for returns false, and has the group forget it afterwards. If C is no io.Closer, `on` closes the connection itself, or nobody
// does. A *tls.Conn is closed without a close_notify, which might block. New panics if `on` is nil or cfg has no timeout.
func New[C any](cfg Config, on func(C, Reason) Verdict) *Group[C] {
	if on == nil {
		panic("idle: New without a function to ask")
	}
	if !cfg.timed() {
		panic("idle: New without a timeout: set AllIdle or another one, or AllIdle: Never for a group that only drains and evicts")
	}
	g := &Group[C]{clock: new(clock), on: on, limits: cfg.limits(), kernel: cfg.Activity == Kernel, start: time.Now()}
	g.grid.step = g.limits.step
	g.policy = g.limits.policy(&g.grid, 0)
	g.slots.aged = g.limits.age > 0 || g.limits.handshake > 0
	g.core = wheel.NewCore[uint32](0)
	g.onFire = func(_ wheel.ID, i uint32) { g.fired = append(g.fired, i) }
	return g
}

// Track begins to watch a connection, as if it was used now. It takes a lock for a fraction of a microsecond. It fails with
// ErrClosed, ErrTracked or ErrFull, and with Config.Activity Kernel if the kernel can't be asked about c: it must be a TCP connection
// on Linux, or have a method NetConn that leads to one, as *tls.Conn has; and not speak Multipath TCP, of which the kernel tells one
// path alone: Go's listeners do where they can, unless net.ListenConfig.SetMultipathTCP(false) is called. That question takes more
// stack than a new goroutine has, and leaves it with 4 kB instead of 2: ask it where you accept, not in each connection's goroutine.
func (g *Group[C]) Track(c C, e *Entry) error {
	if e == nil {
		panic("idle: Track without an Entry")
	}
	if !g.kernel {
		return g.track(c, e, nil)
	}
	raw, err := rawOf(c)
	if err != nil {
		return err
	}
	return g.track(c, e, raw)
}

// track is Track by the kernel's word, if raw is not nil, or by touches.
func (g *Group[C]) track(c C, e *Entry, raw syscall.RawConn) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed || g.draining:
		return ErrClosed
	case !e.clock.CompareAndSwap(nil, g.clock):
		return ErrTracked
	}
	i, ok := g.slots.take()
	if !ok {
		e.clock.Store(nil)
		return ErrFull
	}
	g.driveLocked()
	g.tracked++
	g.stats.Tracked++

	now := uint32(g.grid.now)
	e.slot, e.pinged = i, now
	e.read.Store(now)
	e.write.Store(now)
	e.pong.Store(now)
	e.use.reset()
	chunk, at := g.slots.at(i)
	chunk.slots[at] = slot[C]{c: c, entry: e}
	if chunk.born != nil {
		chunk.born[at] = now
	}
	if g.limits.handshake > 0 {
		e.read.Store(neverRead(now))
		chunk.notes[at].set(awaitingRead)
	}
	g.slots.setRaw(i, raw)
	g.scheduleLocked(i)
	return nil
}

// Untrack ends the watch. It returns true if `on` is not called for the connection any more; the Entry may be used again at once.
// It returns false if it is not tracked by this group, or if `on` has been called for it: then the group forgets it when `on` returns,
// and closes it only if that says so.
func (g *Group[C]) Untrack(e *Entry) bool { return g.untrack(e, untracked) }

func (g *Group[C]) untrack(e *Entry, how state) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e.clock.Load() != g.clock {
		return false
	}
	n := g.slots.note(e.slot)
	if n.phase() == asked {
		n.set(how)
		return false
	}
	g.stats.Untracked++
	g.forgetLocked(e.slot)
	return true
}

// forgetLocked ends the watch of a connection. If it is queued, its seat stays taken until a worker finds it empty.
func (g *Group[C]) forgetLocked(i uint32) {
	chunk, at := g.slots.at(i)
	s, n := &chunk.slots[at], &chunk.notes[at]
	s.entry.clock.Store(nil)
	if n.phase() == queued {
		*s = slot[C]{}
	} else {
		if n.phase() == waiting {
			g.core.Remove(s.timer)
		}
		g.slots.vacate(i)
	}
	g.tracked--
	g.emptyLocked()
}

// emptyLocked tells a Drain that no connection is left, nor one that is still being closed.
func (g *Group[C]) emptyLocked() {
	if g.tracked == 0 && g.closing == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
}

// Len returns how many connections are tracked.
func (g *Group[C]) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tracked
}

// Close forgets all connections and closes none; their entries may be used again. No `on` begins after it has returned; those
// that run go on, and a verdict of theirs still closes. Track fails from then on.
func (g *Group[C]) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for k, c := range g.slots.chunks {
		for at := range uint32(chunkSize) {
			if c.slots[at].entry == nil {
				continue
			}
			if c.notes[at].phase() == asked {
				c.notes[at].set(untracked)
				continue
			}
			g.forgetLocked(uint32(k)*chunkSize + at)
		}
	}
}

// busy says that until unbusy the connection counts as used, if the kernel is not asked about it, and that neither its age nor an
// eviction ends it.
func (g *Group[C]) busy(e *Entry) { e.use.beginBusy() }

// unbusy judges at once what has waited for it.
func (g *Group[C]) unbusy(e *Entry) {
	if !e.use.endBusy() {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	e.use.clearNotice()
	if e.clock.Load() != g.clock || g.slots.note(e.slot).phase() != waiting {
		return
	}
	if !g.draining {
		g.recheckLocked(e.slot)
		return
	}
	g.core.Remove(g.slots.slot(e.slot).timer)
	g.queueLocked(job{slot: e.slot, why: becauseDraining})
	g.startWorkersLocked()
}
