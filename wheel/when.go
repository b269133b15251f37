package wheel

import (
	"fmt"
	"time"
)

// When says when a timer of [Wheel.AddAt] or [Keyed.SetAt] is due: After a
// delay, or At an instant. The zero When is due at once.
type When struct {
	// After is a delay on the monotonic clock. It must be zero if At is set.
	After time.Duration

	// At is an instant of the wall clock, and its monotonic reading is ignored.
	// If that clock is stepped, or the machine is suspended, the timer follows
	// within 30 s. An instant in the past is due at once. The zero time means
	// that At is not set.
	At time.Time

	// Slack is the time by which the timer may be later. The deadline is rounded
	// up to a multiple of 2^n ticks, for the largest 2^n ticks that fit into
	// Slack. So many such timers share a wake-up, and are moved less often
	// between slots. Zero or less means none.
	Slack time.Duration
}

func (w *When) check() error {
	if w.After != 0 && !w.At.IsZero() {
		return fmt.Errorf("wheel: When.After is %v and When.At is %v: set only one of them", w.After, w.At)
	}
	return nil
}
