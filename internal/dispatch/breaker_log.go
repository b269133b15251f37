package dispatch

import "time"

// breakerLines is how many breakers that opened are logged in complaintEvery,
// and how many that closed.
const breakerLines = 20

// logBreakers logs breakers that opened or closed.
func (d *Dispatcher) logBreakers(changes []breakerChange) {
	for _, c := range changes {
		what := "breaker closed"
		if c.open {
			what = "breaker opened"
		}
		silent, ok := d.logs.turn(what, breakerLines)
		if !ok {
			continue
		}
		attrs := []any{"namespace", c.target.namespace, "destination", c.target.destination}
		if c.open {
			attrs = append(attrs, "failures", c.failures, "next_try_in", c.rest.Round(time.Millisecond).String())
		} else {
			attrs = append(attrs, "open_for", c.lasted.Round(time.Millisecond).String())
		}
		attrs = append(attrs, c.reason()...)
		attrs = append(attrs, "not_logged_before", silent)
		if c.open {
			d.logs.logger.Warn(what, attrs...)
		} else {
			d.logs.logger.Info(what, attrs...)
		}
	}
}

// reason says why the breaker changed.
func (c *breakerChange) reason() []any {
	if c.cause == nil {
		return []any{"reason", "no task waits for this destination, so its state is forgotten"}
	}
	reason := c.cause.Error
	if reason == "" {
		reason = "the receiver replied"
	}
	attrs := []any{"reason", reason, "status", c.cause.Status}
	if c.cause.Detail != "" {
		attrs = append(attrs, "detail", c.cause.Detail)
	}
	return attrs
}
