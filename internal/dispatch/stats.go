package dispatch

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Stats is a snapshot. Counters count since New.
type Stats struct {
	Claimed uint64 // leases obtained; each one settled is in one of the next eight
	// How attempts ended. Delivered counts successes that ended their task's
	// life; a task that was replaced meanwhile is not delivered by them.
	Delivered, Failed, Deferred, Refused, Interrupted, Unsent uint64
	Replaced                                                  uint64 // success of an incarnation that was replaced meanwhile
	Stale                                                     uint64 // the lease was not ours any more at the settlement

	Dead    uint64 // tasks that gave up, whatever the reason; also counted above
	Expired uint64 // claims that found their task expired
	Moved   uint64 // claims that found their task due later, or in another lane
	Gone    uint64 // claims that found their task cancelled, finished or running

	Fired   uint64 // occurrences that schedules made
	Skipped Skipped

	Hints uint64 // entries that the store told of
	Polls uint64

	Running int // claimed and not settled
	Known   int // tasks in the window
	Lanes   int // lanes in the window

	Breakers int // destinations whose breaker is open or half-open

	Late Lateness
}

// counters is what Stats is made of.
type counters struct {
	Stats
	late   histogram // of all attempts
	minute window    // of those of the last minute
}

func (c *counters) stats() Stats {
	s := c.Stats
	s.Late = c.late.summary()
	return s
}

// sent counts how late an attempt began that has ended.
func (c *counters) sent(steady time.Duration, o task.Outcome) {
	if o.Verdict != task.Unsent {
		c.late.record(o.Late)
		c.minute.record(steady, o.Late)
	}
}

// settled counts an outcome whose settlement left t behind.
func (c *counters) settled(o task.Outcome, t *task.Task) {
	if t.State == task.Dead {
		c.Dead++
	}
	switch o.Verdict {
	case task.Success:
		if t.State == task.Delivered {
			c.Delivered++
		} else {
			c.Replaced++
		}
	case task.Deferral:
		c.Deferred++
	case task.Refusal:
		c.Refused++
	case task.Interrupted:
		c.Interrupted++
	case task.Unsent:
		c.Unsent++
	default:
		c.Failed++
	}
}
