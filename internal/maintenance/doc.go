// Package maintenance carries out what operators asked for and what takes longer
// than a request: it ends purges, notes when tokens were used last, and forgets
// those that ended long ago. It also
// computes the next instants of schedules anew where the clock was set or a
// zone has other rules.
//
// Nothing is remembered here. What is to be done stands in the settings, so
// that whatever is interrupted, by a crash too, is begun again: a purge is a
// mark in its queue's settings until its last task is cancelled. Schedules are
// looked at at each start.
package maintenance
