// Package recurrence computes the instants of a schedule.
//
// A Rule is a client's definition: a cron expression or an interval, its
// bounds, and the policies for missed and overlapping instants. A Calendar
// yields the instants of a rule, and Progress adds the history of one schedule,
// so that no instant is fired twice, even after the clock was set back.
// missed_instants.go has the policies for instants that passed while no server
// could fire them.
//
// The time is an argument of all functions, so the only input from outside is
// the database of time zones, which internal/cron reads and caches. The package
// knows neither tasks nor stores: internal/task creates the tasks of the
// instants.
package recurrence
