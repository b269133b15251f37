package planner

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// BreakerChange describes a breaker that opened or closed.
type BreakerChange struct {
	Namespace, Destination string

	Open     bool
	Failures int           // if it opened: attempts in a row that failed
	Rest     time.Duration // if it opened: the wait until an attempt tries the receiver
	Lasted   time.Duration // if it closed: how long it was open
	Cause    *task.Outcome // the outcome of the attempt that changed it; nil means that the Planner forgot the receiver
}

// recordBreakerChange records a BreakerChange if t's breaker was closed in
// before and is open now, or the other way round. cause is the end of the
// attempt that changed it, or nil.
func (pl *Planner) recordBreakerChange(t *destination, before breaker, cause *task.Outcome) {
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
