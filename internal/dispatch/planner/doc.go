// Package planner decides which task starts next.
//
// A Planner holds the near future of a store: the waiting tasks it knows, lane
// by lane, and the limits that apply to them. Its caller passes the time and
// the store's replies, and calls Refresh after each group of such events.
// Refresh returns effects: which of the calls below are useful now, and when to
// call again.
//
//	Hint, Offer              a task waits
//	BeginRounds, Pages,      survey the lanes of the store, page by page
//	AbsorbPages
//	Reads, AbsorbReads       read parts of lanes
//	Take, Begin, Release     which tasks to claim, and how their attempts ended
//	TakeFires, Answered      which schedules to fire
//	Asks, Granted            which parts of shared limits to request
//	Wake                     the moment of a Wakeup has come
//
// A Planner has three cores, which share the lanes, queues and destinations:
//
//	chooser  choose*.go  which ready lane is next. State: the slots, the trees of
//	                     lanes, queues and namespaces, the quarantine slot. Each
//	                     ready lane is in its tree, and no other lane is.
//	window   window*.go  what is read ahead. State: the known tasks, the cursor
//	                     of each lane, reads and surveys. Each task up to the
//	                     cursor of its lane is known, or a hint will name it.
//	limits   limits*.go  what may start. State: buckets, breakers, leases of
//	                     shared limits. No start exceeds a limit.
//
// No core asks another for a decision. An event changes the cores that it
// concerns, and marks the lanes and queues that it affects (mark, markQueue,
// markAll). One loop, refresh, asks the limits about each of them, puts the
// answer into the chooser, lets the window request reads, and sets the wake-up.
// So the order of the events of a group does not matter, and a lane that
// changed many times is placed once.
//
// The package is pure: it reads no clock, starts no goroutine, takes no lock
// and does no I/O. A Planner is not safe for concurrent use. The exceptions are
// Pick.Lane, which reads only constants, and Pick.Permitted, which reads the
// atomic ends of at most two leases.
package planner
