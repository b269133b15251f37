package idle

import "sync/atomic"

// clock holds the number of a group's current step, which the entries of all
// connections read often, and one goroutine writes once a step. It has two
// cache lines to itself, since processors fetch them in pairs.
type clock struct {
	_   [64]byte
	now atomic.Uint32 // the low bits of grid.now; written by the group's driver, read by all touches
	_   [60]byte
}

// Entry is the state of a watched connection; embed one in each. Its methods
// may be called by any goroutine at any time, but before Track and after
// Untrack they do nothing. An Entry must not be copied while it is tracked. It
// may be tracked again after Untrack has returned true, or after the callback
// has returned and the group closed the connection. Another group may track it
// only if no touch for the first group can still be under way.
type Entry struct {
	clock atomic.Pointer[clock] // nil: not tracked; written by its group, read by touches

	// The steps of the last touches, which touches raise and the group reads. A
	// touch that was delayed after reading the clock finds a later step here,
	// and leaves it.
	read, write, pong atomic.Uint32

	use use // Writes, transfers and requests under way

	// The group's lock guards the fields below.
	slot   uint32 // index of the connection in the group's slots
	pinged uint32 // the step of the last ping; before the first, the step of Track
}

// TouchRead reports that something was received. It takes less than 2 ns,
// because it only copies a number if that has changed.
func (e *Entry) TouchRead() {
	if c := e.clock.Load(); c != nil {
		copyStep(&e.read, c)
	}
}

// TouchWrite reports that something was sent, at the cost of TouchRead.
func (e *Entry) TouchWrite() {
	if c := e.clock.Load(); c != nil {
		copyStep(&e.write, c)
	}
}

// Pong reports that the peer has answered a ping, which is a sign of life, but
// not a use: it delays neither ReadIdle nor AllIdle. A Pong without a ping only
// delays the next ping.
func (e *Entry) Pong() {
	if c := e.clock.Load(); c != nil {
		copyStep(&e.pong, c)
	}
}

// copyStep writes only if the step has changed: a store costs several times as
// much as a load, and takes the cache line from other processors.
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
