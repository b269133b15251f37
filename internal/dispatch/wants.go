package dispatch

import "time"

// wants says which parts of the shell have something to do now.
type Wants struct {
	Claim  bool // a task may start: see take
	Fire   bool // a schedule is due: see takeFires
	Read   bool // a lane has room for more, or a chore is left: see plan and work
	Survey bool // lanes are there of which nothing was to be known: see beginRounds
	Ask    bool // a part of a limit is wanted, or is to be given back: see asks
}

// wants returns what there is to do. It reports a survey once.
func (a *Planner) Wants() Wants {
	w := Wants{
		Claim:  a.first() != nil,
		Fire:   a.fires(),
		Read:   len(a.hungry)+len(a.chores) > 0,
		Survey: a.unread,
		Ask:    len(a.eager) > 0,
	}
	a.unread = false
	return w
}

// busy reports whether a round or a chore is under way.
func (a *Planner) Busy() bool { return len(a.rounds)+len(a.chores) > 0 }

// breakerChanges returns the breakers that opened or closed since the last call.
func (a *Planner) BreakerChanges() []BreakerChange {
	changes := a.changes
	a.changes = nil
	return changes
}

// several reports whether more than one namespace is known.
func (a *Planner) Several() bool { return len(a.spaces) > 1 }

// size returns how many tasks and lanes are known, and how many breakers are open or
// half-open.
func (a *Planner) Size() (tasks, lanes, broken int) { return a.total, len(a.lanes), a.broken }

// storeAway notes that the store, or a part of it, gave no answer.
func (a *Planner) StoreAway() { a.away = a.steady }

// untilBell returns how long it is until b rings, which is set by the clock that never
// steps.
func (a *Planner) Until(b *Wakeup) time.Duration { return b.Monotonic - a.steady }
