package dispatch

import "time"

// wants says which parts of the shell have something to do now.
type wants struct {
	claim  bool // a task may start: see take
	fire   bool // a schedule is due: see takeFires
	read   bool // a lane has room for more, or a chore is left: see plan and work
	survey bool // lanes are there of which nothing was to be known: see beginRounds
	ask    bool // a part of a limit is wanted, or is to be given back: see asks
}

// wants returns what there is to do. It reports a survey once.
func (a *agenda) wants() wants {
	w := wants{
		claim:  a.first() != nil,
		fire:   a.fires(),
		read:   len(a.hungry)+len(a.chores) > 0,
		survey: a.unread,
		ask:    len(a.eager) > 0,
	}
	a.unread = false
	return w
}

// busy reports whether a round or a chore is under way.
func (a *agenda) busy() bool { return len(a.rounds)+len(a.chores) > 0 }

// breakerChanges returns the breakers that opened or closed since the last call.
func (a *agenda) breakerChanges() []breakerChange {
	changes := a.changes
	a.changes = nil
	return changes
}

// several reports whether more than one namespace is known.
func (a *agenda) several() bool { return len(a.spaces) > 1 }

// size returns how many tasks and lanes are known, and how many breakers are open or
// half-open.
func (a *agenda) size() (tasks, lanes, broken int) { return a.total, len(a.lanes), a.broken }

// storeAway notes that the store, or a part of it, gave no answer.
func (a *agenda) storeAway() { a.away = a.steady }

// untilBell returns how long it is until b rings, which is set by the clock that never
// steps.
func (a *agenda) untilBell(b *bell) time.Duration { return b.steady - a.steady }
