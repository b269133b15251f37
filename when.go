package foliot

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// When is a due time. The zero When is due at once.
type When struct {
	at       time.Time // valid if absolute
	absolute bool
	delay    time.Duration
}

// In returns a due time that counts from the moment at which the store accepts
// the task. A negative delay is 0. Only such a task can be touched.
func In(d time.Duration) When { return When{delay: max(d, 0)} }

// At returns a due time, rounded up to the millisecond. A past time is due at
// once. The zero time is an error: it is not a time that someone meant.
func At(t time.Time) When { return When{at: t, absolute: true} }

func (w When) task() task.When {
	if !w.absolute {
		return task.When{Relative: true, Delay: w.delay}
	}
	return task.When{At: max(task.CeilMillis(w.at), 1)}
}

// valid returns an error if w is At of the zero time.
func (w When) valid(name string) error {
	if w.absolute && w.at.IsZero() {
		return &Error{Task: name, kind: ErrInvalid, detail: "the due time is the zero time: set it, or write In(0) for a task that is due at once"}
	}
	return nil
}
