package foliot

import (
	"time"

	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/task"
)

// When is a due time, and the zero When is due at once.
type When struct {
	at       time.Time // valid if absolute
	absolute bool
	delay    time.Duration
	err      error // why it is no due time
}

// In returns a due time d after the store accepts the task, where a negative d
// counts as 0. Only a task with such a due time can be touched.
func In(d time.Duration) When { return When{delay: max(d, 0)} }

// At returns a due time, rounded up to the millisecond, and a past time is due
// at once. The zero time causes ErrInvalid in the call that gets it, because it
// is usually a value that the program forgot to set.
func At(t time.Time) When {
	if t.IsZero() {
		return When{err: invalid("the due time is the zero time: set it, or use In(0) for a task that is due at once")}
	}
	return When{at: t, absolute: true}
}

// Local returns the due time at which the clocks of a time zone show a local
// time: Local("2027-03-28 09:00", "Europe/Berlin"). The text can go on with
// seconds and milliseconds, as in 09:00:30.250. A time that a clock change skips
// is due at the end of the gap, and a time that occurs twice is due at the first.
// A wrong text or time zone causes ErrInvalid in the call that gets the result.
func Local(text, timezone string) When {
	t, err := cron.ParseLocal(text, timezone)
	if err != nil {
		return When{err: invalid("%v", err)}
	}
	return When{at: t, absolute: true}
}

func (w When) task() task.When {
	if !w.absolute {
		return task.When{Relative: true, Delay: w.delay}
	}
	return task.When{At: max(task.CeilMillis(w.at), 1)}
}
