package dispatch

import (
	"sync"
	"time"
)

// asleep is how far the wall clock may go ahead of the monotonic one between two
// looks and be taken for one that was corrected.
const asleep = time.Second

// monotonicClock is a clock that never goes back, and that goes on while the machine
// sleeps. Go's monotonic clock stands still then: a lease would seem to hold that
// others have seen end, and a task that was cancelled meanwhile would be sent. So a
// wall clock that went ahead counts as a sleep. Where it was set ahead, leases end
// here too early, which costs an attempt its turn, and no more.
type monotonicClock struct {
	base time.Time

	mu    sync.Mutex    // guards what follows, and orders the looks
	gap   time.Duration // wall - monotonic, at the last look
	slept time.Duration
}

func newMonotonicClock() *monotonicClock { return &monotonicClock{base: time.Now()} }

// now returns the time since newMonotonicClock.
func (s *monotonicClock) now() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	return s.lookLocked(now.Sub(s.base), now.Round(0).Sub(s.base.Round(0)))
}

// lookLocked takes in what the two clocks show, both since newMonotonicClock.
func (s *monotonicClock) lookLocked(monotonic, wall time.Duration) time.Duration {
	gap := wall - monotonic
	if ahead := gap - s.gap; ahead > asleep {
		s.slept += ahead
	}
	s.gap = gap
	return monotonic + s.slept
}
