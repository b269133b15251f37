// Package planner decides which task starts next.
//
// A Planner holds the near future of a store: the waiting tasks it knows, lane
// by lane, and the limits that apply to them. Its caller passes the time and
// the store's replies. The Planner returns the work that the caller must do
// next:
//
//	Hint, Offer              a task waits
//	BeginRounds, Pages,      survey the lanes of the store, page by page
//	AbsorbPages
//	Reads, AbsorbReads       read parts of lanes
//	Take, Begin, Release     which tasks to claim, and how their attempts ended
//	TakeFires, FireAnswered  which schedules to fire
//	Asks, Granted            which parts of shared limits to request
//	Wakeups, Wake            when to call again
//	Signals                  which of these calls are useful now
//
// The package is pure: it reads no clock, starts no goroutine, takes no lock
// and does no I/O. A Planner is not safe for concurrent use. The exception is
// Pick.Permitted, which any goroutine can call at any time. It reads only the
// atomic ends of at most two leases: see LimitLease.
//
// The files, from the bottom up:
//
//	heap, bucket, breaker             data structures that are independent of lanes
//	wait_tree, slots                  the search tree of lanes that wait for a slot, and the slots
//	lane, queue, destination, wakeup  the state of each
//	limit_lease, limit_requests       leased parts of limits that nodes share
//	quarantine_slot                   the one attempt of the tasks in quarantine
//	lane_update, survey, read         work in pieces, and reads of the store
//	planner, pick, schedules,         the calls of the Planner's user
//	settings, lifecycle, signals, state
package planner
