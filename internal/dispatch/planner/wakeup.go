package planner

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Wakeup is a moment at which the Planner must be called. When a task becomes
// due, it is a time of the wall clock. When a wait ends, it is a time of the
// monotonic clock. The caller keeps a timer for each Wakeup, and calls Wake
// when the timer fires.
type Wakeup struct {
	owner     wakeable
	Wall      task.Millis   // zero means not on this clock
	Monotonic time.Duration // zero means not on this clock

	dirty bool   // the moment has changed; it is in Planner.dirty
	Timer uint64 // for the caller: the number of the timer that is set for the moment
}

// wakeable is the owner of a Wakeup: a lane, a queue or a destination, for
// example.
type wakeable interface {
	// wake checks whether the moment has come. A timer that fires too early or
	// too late does no harm.
	wake(pl *Planner, now task.Millis)
}

// IsSet reports whether b has a moment. If not, its timer must be removed.
func (b *Wakeup) IsSet() bool { return b.Wall != 0 || b.Monotonic != 0 }

// arm sets the moment of b. If both times are 0, b has no moment.
func (pl *Planner) arm(b *Wakeup, wall task.Millis, monotonic time.Duration) {
	if b.Wall == wall && b.Monotonic == monotonic {
		return
	}
	b.Wall, b.Monotonic = wall, monotonic
	if !b.dirty {
		b.dirty = true
		pl.dirty = append(pl.dirty, b)
	}
}

// Wake must be called when the timer of b has fired.
func (pl *Planner) Wake(b *Wakeup, now task.Millis) {
	if b.IsSet() {
		b.Wall, b.Monotonic = 0, 0 // the caller has no timer for b any more
		b.owner.wake(pl, now)
	}
}

// Wakeups returns the wake-ups whose moment has changed since the last call.
// The caller must set or remove their timers.
func (pl *Planner) Wakeups() []*Wakeup {
	changed := pl.dirty
	pl.dirty = nil
	for _, b := range changed {
		b.dirty = false
	}
	return changed
}
