package dispatch

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

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
// open now, or the other way round. cause is the end of the attempt that changed
// it, if there was one.
func (a *agenda) brokenSince(t *target, before breaker, cause *task.Outcome) {
	b := &t.breaker
	switch {
	case b.open == before.open:
	case b.open:
		a.broken++
		a.changes = append(a.changes, breakerChange{target: t.key, open: true, failures: t.failures, rest: b.until - a.steady, cause: cause})
	default:
		a.broken--
		a.changes = append(a.changes, breakerChange{target: t.key, lasted: a.steady - before.since, cause: cause})
	}
}
