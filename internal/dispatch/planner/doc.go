// Package planner decides which task starts next.
//
// A Planner holds the near future of a store: the waiting tasks it knows, lane
// by lane, and the limits that apply to them. Its caller passes the time and
// the store's replies. The Planner returns the work that the caller must do
// next:
//
//	Hint, Offer              a task waits
//	BeginRounds, Pages,      which pages of lanes and which parts of lanes to read,
//	Reads, Absorb…           and what the reads have found
//	Take, Begin, Release     which tasks to claim, and how their attempts ended
//	TakeFires, FireAnswered  which schedules to fire
//	Asks, Granted            which parts of shared limits to request
//	Wakeups, Wake            at which moments to call again
//	Signals                  which of these calls are useful now
//
// The package is pure: it reads no clock, starts no goroutine, takes no lock
// and does no I/O. A Planner is not safe for concurrent use. There is one
// exception, Pick.Permitted, which reads one atomic word: see LimitLease.
//
// The files, from the bottom up:
//
//	heap, bucket, breaker             structures that do not know lanes
//	wait_tree, slots                  the search tree of lanes that wait for a slot, and the slots
//	lane, queue, destination, wakeup  the state of each
//	limit_lease, limit_requests       leased parts of limits that nodes share
//	quarantine_slot                   the one attempt of the tasks in quarantine
//	lane_update, survey, read         work in pieces, and reads of the store
//	planner, pick, schedules,         the calls of the Planner's user
//	settings, lifecycle, signals, state
package planner
