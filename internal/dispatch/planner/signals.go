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
func (a *Planner) Signals() Signals {
	s := Signals{
		Claim:   a.first() != nil,
		Fire:    a.fires(),
		Refill:  len(a.readTurns)+len(a.updates) > 0,
		Survey:  a.needsSurvey,
		Permits: len(a.pending) > 0,
	}
	a.needsSurvey = false
	return s
}

// Busy reports whether a survey is under way, or a change for many lanes.
func (a *Planner) Busy() bool { return len(a.rounds)+len(a.updates) > 0 }

// BreakerChanges returns the breakers that opened or closed since the last call.
func (a *Planner) BreakerChanges() []BreakerChange {
	changes := a.changes
	a.changes = nil
	return changes
}

// Several reports whether more than one namespace is known.
func (a *Planner) Several() bool { return len(a.namespaces) > 1 }

// Size returns how many tasks and lanes are known, and how many breakers are open or
// half-open.
func (a *Planner) Size() (tasks, lanes, broken int) { return a.total, len(a.lanes), a.broken }

// StoreAway notes that the store, or a part of it, gave no answer. While the store is
// away, no task waits for its receiver alone.
func (a *Planner) StoreAway() { a.away = a.monotonic }

// Until returns how long it is until b, which is set by the clock that never steps.
func (a *Planner) Until(b *Wakeup) time.Duration { return b.Monotonic - a.monotonic }
