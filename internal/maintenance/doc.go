// Package maintenance does background work that takes longer than a request: it
// cancels the tasks of purges, records the last uses of tokens, and removes
// tokens that ended long ago. It computes the next instants of schedules again
// after a clock step, or after a change of the rules of a time zone.
//
// The package keeps no state of its own. The settings hold the work to do: a
// purge is a mark in its queue's settings until its last task is cancelled.
// Therefore the work starts again after an interruption, even after a crash, and
// all schedules are checked at each start.
package maintenance
