package dispatch

import (
	"cmp"
	"time"

	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/task"
)

// logBreakers logs breakers that opened or closed.
func (d *Dispatcher) logBreakers(changes []planner.BreakerChange) {
	for _, c := range changes {
		attrs, reason := []any{"namespace", c.Namespace, "destination", c.Destination}, breakerReason(c.Cause)
		if c.Open {
			attrs = append(attrs, "failures", c.Failures, "next_try_in", c.Rest.Round(time.Millisecond).String())
			d.config.Logger.Warn("breaker opened", append(attrs, reason...)...)
		} else {
			attrs = append(attrs, "open_for", c.Lasted.Round(time.Millisecond).String())
			d.config.Logger.Info("breaker closed", append(attrs, reason...)...)
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
