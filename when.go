package foliot

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// When is a due time, and the zero When is due at once.
type When struct {
	at       time.Time // valid if absolute
	absolute bool
	delay    time.Duration
}

// In returns a due time d after the store accepts the task, where a negative d
// counts as 0. Only a task with such a due time can be touched.
func In(d time.Duration) When { return When{delay: max(d, 0)} }

// At returns a due time, rounded up to the millisecond, and a past time is due
// at once. The zero time causes ErrInvalid, because it is usually a value that
// the program forgot to set.
func At(t time.Time) When { return When{at: t, absolute: true} }

func (w When) task() task.When {
	if !w.absolute {
		return task.When{Relative: true, Delay: w.delay}
	}
	return task.When{At: max(task.CeilMillis(w.at), 1)}
}

// valid returns an error, about the task or schedule name, if w is At of the
// zero time.
func (w When) valid(name string) error {
	if w.absolute && w.at.IsZero() {
		return &Error{Task: name, kind: ErrInvalid, detail: "the due time is the zero time: set it, or use In(0) for a task that is due at once"}
	}
	return nil
}
