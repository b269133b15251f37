// Package maintenance does background work that takes longer than a request. It
// carries out purges, records the last uses of tokens, and removes tokens that
// ended long ago. It also computes the next instants of schedules again when
// the clock was set or the rules of a time zone changed.
//
// The package keeps no state of its own. The settings hold the work to do: a
// purge is a mark in its queue's settings until its last task is cancelled. So
// after an interruption, even a crash, the work starts again. Schedules are
// checked at each start.
package maintenance
