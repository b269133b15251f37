package planner

import "time"

// Signals reports which of the caller's goroutines have work.
type Signals struct {
	Claim   bool // a task can start: call Take
	Fire    bool // a schedule is due: call TakeFires
	Refill  bool // a lane has room for more tasks, or work is left: call Reads and Work
	Survey  bool // lanes without known tasks must be read: call BeginRounds
	Permits bool // a part of a shared limit must be requested or returned: call Asks
}

// Signals returns the work that is ready. It reports a survey only once.
func (pl *Planner) Signals() Signals {
	s := Signals{
		Claim:   pl.first() != nil,
		Fire:    pl.fires(),
		Refill:  len(pl.namespacesToRead)+len(pl.updates) > 0,
		Survey:  pl.needsSurvey,
		Permits: len(pl.pending) > 0,
	}
	pl.needsSurvey = false
	return s
}

// Busy reports whether a survey or an update of many lanes is under way.
func (pl *Planner) Busy() bool { return len(pl.rounds)+len(pl.updates) > 0 }

// BreakerChanges returns the breakers that opened or closed since the last
// call.
func (pl *Planner) BreakerChanges() []BreakerChange {
	changes := pl.changes
	pl.changes = nil
	return changes
}

// Several reports whether more than one namespace is known.
func (pl *Planner) Several() bool { return len(pl.namespaces) > 1 }

// Size returns the number of known tasks and lanes, and of breakers that are
// open or half-open.
func (pl *Planner) Size() (tasks, lanes, broken int) { return pl.total, len(pl.lanes), pl.broken }

// StoreAway records that the store, or a shard of it, did not reply. The time
// up to now does not count as a delay by the receiver: see delayedFor.
func (pl *Planner) StoreAway() { pl.storeFailedAt = pl.monotonic }

// Until returns how long it is until b, whose time must be on the monotonic
// clock.
func (pl *Planner) Until(b *Wakeup) time.Duration { return b.Monotonic - pl.monotonic }
