package idle

import (
	"sync"
	"syscall"
	"time"

	"github.com/foliot/foliot/wheel"
)

// Group watches connections, calls the callback for those that were not used
// for a while, and closes them if the callback returns Close. All methods are
// safe for concurrent use, including from the callback, except Drain. New makes
// a Group; the zero Group does not work.
//
// One group may watch the connections of several listeners and servers, so use
// one group for each set of timeouts. A group without connections needs no
// Close: it does not wake up, and the garbage collector can free it.
type Group[C any] struct {
	// A connection has a slot and, while it waits, a timer on core for the
	// earliest step in which a reason may be due. The driver counts the steps
	// and sweeps: connections that are due go into the work queue, and all
	// others get a new timer. Workers take from the queue, check again and call
	// the callback. All of this happens under the lock, except the callback. So
	//
	//	waiting ──sweep, EvictIdlest, Drain──► queued ──worker──► asked ──Keep──► waiting
	//
	// and each of Untrack, Close and the verdict ends a connection once, since
	// each does so under the lock.

	clock  *clock // written under mu
	on     func(C, Reason) Verdict
	limits limits
	kernel bool // Config.Activity is Kernel
	start  time.Time

	mu       sync.Mutex // guards all fields below, and the group's fields of its entries
	grid     grid
	elapsed  time.Duration // time from start to the last check of the step
	policy   policy
	pressure float64
	core     *wheel.Core[uint32] // timers of slots, in steps
	slots    slots[C]
	probe    *probe // created at first use

	driver      *time.Timer            // calls tick; nil before the first connection
	onFire      func(wheel.ID, uint32) // called when a timer fires: appends to fired
	fired       []uint32               // the slots that a sweep checks
	warm        uint32                 // result of the reads ahead, so that the compiler keeps them
	driven      bool                   // the driver's timer is set
	sweeping    bool
	queue       workQueue
	graceCloses graceCloses // connections to close after the grace time
	workers     int
	outside     int // workers that run the callback or Close, without the lock
	budget      int // connections that may still be asked about in resolution budgetOf
	budgetOf    uint64

	tracked  int
	closing  int // forgotten, but not yet closed
	draining bool
	closed   bool
	empty    chan struct{} // closed when the last connection has ended; nil if no Drain waits
	stats    Stats
}

// New returns a group with the callback on, which returns whether to close or
// to keep the connection. At most Config.Workers goroutines call it at a time,
// without any lock, and never two for one connection.
//
// The callback may call the group's methods except Drain. If it calls Untrack
// for its own connection, Untrack returns false, and the group forgets the
// connection when the callback returns. If C is not an io.Closer, the callback
// must close the connection itself. A *tls.Conn is closed without a
// close_notify, which might block. New panics if on is nil or cfg has no
// timeout.
func New[C any](cfg Config, on func(C, Reason) Verdict) *Group[C] {
	if on == nil {
		panic("idle: New without a function to call")
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

// Track begins to watch a connection, as if it was used now, and holds a lock
// for a fraction of a microsecond. It returns ErrClosed if the group is closed
// or draining, ErrTracked if e is tracked already, and ErrFull if the group has
// no room. Track panics if e is nil.
//
// With Config.Activity Kernel it also returns an error if the kernel cannot
// report on c. c must be a TCP connection on Linux, or have a method NetConn
// that leads to one, as *tls.Conn has. It must not use Multipath TCP, for which
// the kernel reports a single path. Go's listeners use that if they can, unless
// net.ListenConfig.SetMultipathTCP(false) was called. This check takes more
// stack than a new goroutine has, and leaves it with 4 kB instead of 2, so call
// Track in the goroutine that accepts, not in that of each connection.
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

// track is Track with the kernel as source if raw is not nil, and with touches
// otherwise.
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

// Untrack ends the watch. If it returns true, the callback will not be called
// for the connection any more, and the Entry may be used again at once. It
// returns false if this group does not track the connection, or if the callback
// is running for it. In the latter case the group forgets the connection when
// the callback returns, and closes it only if the verdict is Close.
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

// forgetLocked ends the watch of a connection. If it is queued, its slot stays
// taken until a worker finds it empty.
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

// emptyLocked notifies Drain if no connection is tracked or being closed.
func (g *Group[C]) emptyLocked() {
	if g.tracked == 0 && g.closing == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
}

// Len returns the number of tracked connections.
func (g *Group[C]) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tracked
}

// Close forgets all connections and closes none of them; to close them, call
// Drain first. Their entries may be used again. After Close has returned, Track
// returns ErrClosed, and no call of the callback begins. Calls in progress
// continue, and their verdict still closes.
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

// busy marks the connection as in use until unbusy, unless the kernel reports
// on it, so neither its age nor an eviction ends it.
func (g *Group[C]) busy(e *Entry) { e.use.beginBusy() }

// unbusy ends busy, and checks the connection at once if the group waits for
// that.
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
