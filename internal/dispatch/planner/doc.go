// Package planner decides which task starts next.
//
// A Planner holds the near future of a store: the waiting tasks that are known,
// lane by lane, and the limits that apply to them. Its caller passes the time and
// what the store has returned. The Planner returns what the caller must do next:
//
//	Hint, Offer              a task waits
//	BeginRounds, Pages,      which pages of lanes and which parts of lanes to read,
//	Reads, Absorb…           and what the reads have returned
//	Take, Begin, Release     which tasks to claim, and how their attempts ended
//	TakeFires, FireAnswered  which schedules to fire
//	Asks, Granted            which parts of shared limits to request
//	Wakeups, Wake            at which moments to call again
//	Signals                  which of these calls are worth making now
//
// The package is pure: it reads no clock, starts no goroutine, takes no lock and
// does no I/O. A Planner is not safe for concurrent use. There is one exception,
// Pick.Permitted, which reads one atomic word: see LimitLease.
//
// The files, from the bottom up:
//
//	heap, bucket, breaker             structures that know nothing of lanes
//	wait_tree, slots                  the search tree of what waits for a slot, and the slots
//	lane, queue, destination, wakeup  what is known of each
//	limit_lease, limit_requests       leased parts of limits that nodes share
//	quarantine_slot                   the one attempt of the tasks in quarantine
//	lane_update, survey, read         work in pieces, and what is read from the store
//	planner, pick, schedules,         what the caller uses
//	settings, lifecycle, signals, state
package planner
