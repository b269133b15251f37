// Package textbook has the two timing wheels that articles explain, as code to
// read: the ring with rounds ([Ring]) and the wheel of several hands ([Hands]).
// They have no lock, no goroutine and no clock. Each call of Tick is one tick.
//
// A timer with the delay d is due with the d-th Tick after its Add: never
// earlier, never later. A delay below 1 counts as 1, because the next Tick is
// the first that can return the timer. This counts ticks. If real time drives a
// wheel, a part of the first tick has already passed at the Add. So the driver
// must round deadlines up to a tick, or timers are early by up to one tick.
//
// bench/classic has both wheels again, with such a driver and fixed sizes. With
// the code of this package, it took 10 to 15 % longer to add and remove a
// timer, which would have made the comparison unfair.
//
// Package wheel, which programs should use, differs: wheel/DESIGN.md.
package textbook
