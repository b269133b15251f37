package planner

import "time"

// Signals says which of the caller's goroutines have something to do.
type Signals struct {
	Claim   bool // a task may start: call Take
	Fire    bool // a schedule is due: call TakeFires
	Refill  bool // a lane has room for more tasks, or work is left: call Reads and Work
	Survey  bool // lanes must be read of which nothing is known yet: call BeginRounds
	Permits bool // a part of a shared limit must be requested or given back: call Asks
}

// Signals returns what there is to do. It reports a survey once.
func (pl *Planner) Signals() Signals {
	s := Signals{
		Claim:   pl.first() != nil,
		Fire:    pl.fires(),
		Refill:  len(pl.readTurns)+len(pl.updates) > 0,
		Survey:  pl.needsSurvey,
		Permits: len(pl.pending) > 0,
	}
	pl.needsSurvey = false
	return s
}

// Busy reports whether a survey is under way, or a change for many lanes.
func (pl *Planner) Busy() bool { return len(pl.rounds)+len(pl.updates) > 0 }

// BreakerChanges returns the breakers that opened or closed since the last call.
func (pl *Planner) BreakerChanges() []BreakerChange {
	changes := pl.changes
	pl.changes = nil
	return changes
}

// Several reports whether more than one namespace is known.
func (pl *Planner) Several() bool { return len(pl.namespaces) > 1 }

// Size returns how many tasks and lanes are known, and how many breakers are open or
// half-open.
func (pl *Planner) Size() (tasks, lanes, broken int) { return pl.total, len(pl.lanes), pl.broken }

// StoreAway notes that the store, or a part of it, gave no answer. While the store is
// away, no task waits for its receiver alone.
func (pl *Planner) StoreAway() { pl.away = pl.monotonic }

// Until returns how long it is until b, which is set by the clock that never steps.
func (pl *Planner) Until(b *Wakeup) time.Duration { return b.Monotonic - pl.monotonic }
