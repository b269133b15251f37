// Package peer gives the implementations that are measured one shape.
package peer

import "time"

// Timers is an implementation as a program would use it. H is what it hands out for a timer.
type Timers[H any] interface {
	// Nop sets a timer whose callback does nothing, and is the same function for all where it is a function.
	Nop(d time.Duration) H

	// Set sets timer i of the sink.
	Set(d time.Duration, i int) H

	// Remove, Reset and Extend report whether the timer was pending, or true where the implementation does not say.
	Remove(h H) bool
	Reset(h H, d time.Duration) bool

	// Extend is Reset to a later deadline than the timer has: the cheapest way that the implementation knows.
	Extend(h H, d time.Duration) bool

	// Pending returns how many timers are pending, or false where the implementation does not say. It comes last: after it
	// there may be none.
	Pending() (int, bool)

	Close()
}

// Sink is told what fires: Func for implementations that take a function with each timer, the others for those that take
// a value.
type Sink interface {
	Func(i int) func()
	Fire(i int)
	FireAt(i int, now time.Duration)
	Now() time.Duration
}

// nop is the callback of Nop.
func nop() {}

// nobody is the number of a timer that Nop has set.
const nobody = -1
