package planner

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// BreakerChange is a breaker that opened or closed.
type BreakerChange struct {
	Namespace, Destination string

	Open     bool
	Failures int           // of one that opened: attempts in a row that failed
	Rest     time.Duration // of one that opened: until an attempt tries the receiver
	Lasted   time.Duration // of one that closed: how long it was open
	Cause    *task.Outcome // the end of the attempt that changed it; nil: the receiver was forgotten
}

// brokenSince notes that t's breaker was as in before, if it was closed and is
// open now, or the other way round. cause is the end of the attempt that changed
// it, if there was one.
func (pl *Planner) brokenSince(t *destination, before breaker, cause *task.Outcome) {
	b := &t.breaker
	switch {
	case b.open == before.open:
	case b.open:
		pl.broken++
		pl.changes = append(pl.changes, BreakerChange{Namespace: t.key.namespace, Destination: t.key.destination, Open: true, Failures: t.failures, Rest: b.until - pl.monotonic, Cause: cause})
	default:
		pl.broken--
		pl.changes = append(pl.changes, BreakerChange{Namespace: t.key.namespace, Destination: t.key.destination, Lasted: pl.monotonic - before.since, Cause: cause})
	}
}
