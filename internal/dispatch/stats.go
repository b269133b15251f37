package dispatch

import (
	"maps"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Stats is a snapshot of the counters since New.
type Stats struct {
	Claimed uint64 // leases obtained; each one that was settled by its token is counted in one of the next seven
	// How attempts ended. Delivered counts successes that ended the life of
	// their task, and Replaced those of a task that was replaced during the
	// attempt.
	Delivered, Failed, Snoozed, Refused, Interrupted, Unsent uint64
	Replaced                                                 uint64 // successes of tasks that were replaced during the attempt

	Dead    uint64 // tasks that died, for any reason; they are counted above too
	Expired uint64 // claims that found their task expired
	Moved   uint64 // claims that found their task due later, or in another lane
	Gone    uint64 // claims that found their task cancelled, finished or running

	Fired   uint64            // occurrences that schedules created
	Skipped map[string]uint64 // instants that created none, by reason, but not all if very many were skipped at once

	Polls uint64

	Running int // claimed and not settled
	Hanging int // handlers that the renewer has found to run longer than their timeout
	Known   int // tasks in the window
	Lanes   int // lanes in the window

	Breakers int // destinations with a breaker that is open or half-open

	Late, Waited Lateness
}

// counters holds the numbers of Stats.
type counters struct {
	Stats
	late, waited         histogram // of all attempts
	minute, minuteWaited window    // of the attempts of the last minute
}

func (c *counters) stats() Stats {
	s := c.Stats
	s.Skipped = maps.Clone(c.Skipped)
	s.Late, s.Waited = c.late.summary(), c.waited.summary()
	return s
}

// sent counts the delays of an attempt that has ended.
func (c *counters) sent(monotonic time.Duration, o task.Outcome) {
	if o.Verdict != task.Unsent {
		c.late.record(o.Late)
		c.minute.record(monotonic, o.Late)
		c.waited.record(o.Waited)
		c.minuteWaited.record(monotonic, o.Waited)
	}
}

// settled counts an outcome, where t is the task after its settlement.
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
	case task.Snooze:
		c.Snoozed++
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
