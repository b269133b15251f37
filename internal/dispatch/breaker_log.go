package dispatch

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// breakerLines is how many breakers that opened are logged in complaintEvery,
// and how many that closed.
const breakerLines = 20

// breakerChange is a breaker that opened or closed.
type breakerChange struct {
	target   targetKey
	open     bool
	failures int           // of one that opened: attempts in a row that failed
	rest     time.Duration // of one that opened: until an attempt tries the receiver
	lasted   time.Duration // of one that closed: how long it was open
	cause    *task.Outcome // the end of the attempt that changed it; nil: the receiver was forgotten
}

// brokenSince notes that t's breaker was as in before, if it was closed and is
// open now, or the other way round.
func (a *agenda) brokenSince(t *target, before breaker) {
	b := &t.breaker
	switch {
	case b.open == before.open:
	case b.open:
		a.broken++
		a.changes = append(a.changes, breakerChange{target: t.key, open: true, failures: t.failures, rest: b.until - a.steady})
	default:
		a.broken--
		a.changes = append(a.changes, breakerChange{target: t.key, lasted: a.steady - before.since})
	}
}

// caused notes the end of the attempt that made the changes from number n on.
func (a *agenda) caused(n int, o *task.Outcome) {
	for i := range a.changes[n:] {
		a.changes[n+i].cause = o
	}
}

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
