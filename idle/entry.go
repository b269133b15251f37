package idle

import "sync/atomic"

// clock is what the entries of a group read: the number of its present step. Entries of all connections read it all the time and
// one goroutine writes it once a step, so it stands alone on its cache lines: two, since processors fetch them in pairs.
type clock struct {
	_   [64]byte
	now atomic.Uint32 // the low bits of grid.now; written by the group's driver, read by all touches
	_   [60]byte
}

// Entry is what a connection carries to be watched: embed it. Its methods may be called by any goroutine at any time, also
// before it is tracked and after: then they do nothing. An Entry must not be copied while it is tracked. It may be tracked again
// after Untrack has returned true, or after `on` has returned and the group closed the connection; by another group only when no
// touch for the former one can be under way.
type Entry struct {
	clock atomic.Pointer[clock] // nil: not tracked; written by its group, read by touches

	// The steps of the last touches. Touches raise them, and the group reads them. A touch that is held up after it has read the
	// clock finds a later one there, and leaves it.
	read, write, pong atomic.Uint32

	use use // what is under way

	// What follows is the group's, under its lock.
	slot   uint32 // where the group keeps the connection
	pinged uint32 // the step of the last ping, at first that of Track
}

// TouchRead says that something was received. It takes under 2 ns: a number is copied, if it has changed.
func (e *Entry) TouchRead() {
	if c := e.clock.Load(); c != nil {
		copyStep(&e.read, c)
	}
}

// TouchWrite says that something was sent. It costs what TouchRead does.
func (e *Entry) TouchWrite() {
	if c := e.clock.Load(); c != nil {
		copyStep(&e.write, c)
	}
}

// Pong says that the peer has answered a ping. It is a sign of life, but no use: it puts neither ReadIdle nor AllIdle off. One that
// nobody asked for puts the next ping off, and no more.
func (e *Entry) Pong() {
	if c := e.clock.Load(); c != nil {
		copyStep(&e.pong, c)
	}
}

// copyStep writes only if the step has changed: a store costs several times a load, and takes the line from other processors.
func copyStep(to *atomic.Uint32, c *clock) {
	if now := c.now.Load(); to.Load() != now {
		raise(to, now)
	}
}

func raise(to *atomic.Uint32, step uint32) {
	for {
		old := to.Load()
		if int32(step-old) <= 0 || to.CompareAndSwap(old, step) {
			return
		}
	}
}
