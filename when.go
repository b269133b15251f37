package foliot

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// When is a due time. The zero When is due at once.
type When struct {
	at    time.Time
	delay time.Duration
}

// In returns a due time that counts from the moment at which the store accepts
// the task. Only such a task can be touched.
func In(d time.Duration) When { return When{delay: d} }

// At returns a due time, rounded up to the millisecond. A past time is due at
// once.
func At(t time.Time) When { return When{at: t} }

func (w When) task() task.When {
	if w.at.IsZero() {
		return task.When{Relative: true, Delay: w.delay}
	}
	return task.When{At: task.CeilMillis(w.at)}
}
