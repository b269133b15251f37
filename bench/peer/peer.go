// Package peer gives all measured implementations the same interface.
package peer

import "time"

// Timers is an implementation in the form that a program would use. H is its
// handle of a timer.
type Timers[H any] interface {
	// Nop sets a timer with a callback that does nothing. If callbacks are
	// functions, all these timers share one function.
	Nop(d time.Duration) H

	// Set sets timer i of the sink.
	Set(d time.Duration, i int) H

	// Remove, Reset and Extend report whether the timer was pending. They
	// return true if the implementation does not report it.
	Remove(h H) bool
	Reset(h H, d time.Duration) bool

	// Extend is Reset to a deadline that is later than the present one. It uses
	// the cheapest way of the implementation.
	Extend(h H, d time.Duration) bool

	// Pending returns the number of pending timers. It reports false if the
	// implementation does not know it. Pending must be the last call: it may
	// remove all timers.
	Pending() (int, bool)

	Close()
}

// Sink is notified of each timer that fires. Implementations with a function
// for each timer call Func. Those with values call the other methods.
type Sink interface {
	Func(i int) func()
	Fire(i int)
	FireAt(i int, now time.Duration)
	Now() time.Duration
}

// nop is the callback of Nop.
func nop() {}

// noNumber is the number of the timers that Nop sets.
const noNumber = -1
