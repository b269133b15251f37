package dispatch

import (
	"cmp"
	"time"

	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/task"
)

// breakerLines is how many opened breakers, and how many closed ones, are
// logged in logEvery.
const breakerLines = 20

// logBreakers logs breakers that opened or closed.
func (d *Dispatcher) logBreakers(changes []planner.BreakerChange) {
	for _, c := range changes {
		message := "breaker closed"
		if c.Open {
			message = "breaker opened"
		}
		leftOut, ok := d.logs.allow(message, breakerLines)
		if !ok {
			continue
		}
		attrs := []any{"namespace", c.Namespace, "destination", c.Destination}
		if c.Open {
			attrs = append(attrs, "failures", c.Failures, "next_try_in", c.Rest.Round(time.Millisecond).String())
		} else {
			attrs = append(attrs, "open_for", c.Lasted.Round(time.Millisecond).String())
		}
		attrs = append(attrs, breakerReason(c.Cause)...)
		attrs = append(attrs, "not_logged_before", leftOut)
		if c.Open {
			d.logs.logger.Warn(message, attrs...)
		} else {
			d.logs.logger.Info(message, attrs...)
		}
	}
}

// breakerReason returns the attributes with the reason for a breaker's change.
// cause is the end of the attempt that changed it, or nil.
func breakerReason(cause *task.Outcome) []any {
	if cause == nil {
		return []any{"reason", "no task waits for this destination, so its state was removed"}
	}
	attrs := []any{"reason", cmp.Or(cause.Error, "the receiver replied"), "status", cause.Status}
	if cause.Detail != "" {
		attrs = append(attrs, "detail", cause.Detail)
	}
	return attrs
}
