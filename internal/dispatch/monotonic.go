package dispatch

import (
	"sync"
	"time"
)

// sleepStep is how far the wall clock can advance against the monotonic one
// between two readings. A larger step counts as a sleep of the machine.
const sleepStep = time.Second

// monotonicClock never goes back, and it continues while the machine sleeps.
// Go's monotonic clock stops during a sleep, so a lease would seem to hold
// although other nodes have seen it end, and a task that was cancelled during
// the sleep would be sent. So if the wall clock jumps ahead, that counts as a
// sleep. If it was merely set ahead, leases end here too early, which costs an
// attempt its turn, and no more.
type monotonicClock struct {
	base time.Time

	mu    sync.Mutex    // guards the fields below, and orders the readings
	gap   time.Duration // wall - monotonic at the last reading
	slept time.Duration
}

func newMonotonicClock() *monotonicClock { return &monotonicClock{base: time.Now()} }

// now returns the time since newMonotonicClock.
func (c *monotonicClock) now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	return c.readLocked(now.Sub(c.base), now.Round(0).Sub(c.base.Round(0)))
}

// readLocked applies a reading of both clocks, each since newMonotonicClock.
func (c *monotonicClock) readLocked(monotonic, wall time.Duration) time.Duration {
	gap := wall - monotonic
	if ahead := gap - c.gap; ahead > sleepStep {
		c.slept += ahead
	}
	c.gap = gap
	return monotonic + c.slept
}
