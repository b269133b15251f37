// Package dispatch sends each task when it is due: it reads the near window of
// a task.Queue, claims at the due instant, hands each claim to a Deliver, and
// settles what became of it.
//
// What starts next is decided by package planner, which is pure. Around it stands
// Dispatcher with one mutex and one goroutine for each role. They alone read the
// clock and call the store:
//
//	poller    every Poll, and when a lane runs low: LanePages, Peek ──► planner
//	(hints)   from the store, as it happens                     ──► planner
//	(wheel)   a lane's next due time has come                   ──► planner
//	firer     planner ──► Fire: schedules make their occurrences
//	claimer   planner ──► Claim ──► a goroutine for each attempt: Deliver
//	settler   outcomes ──► Settle, whatever has gathered while it was away
//	renewer   Extend, for attempts that take long
//	janitor   Sweep, Reap
//	scrubber  Scrub
//
// Invariants:
//
//   - Nothing is taken before it is due, and nothing is claimed that has no
//     slot to start in. A slot is held from the claim to the settlement, so a
//     store that does not answer stops the claims instead of filling memory.
//   - Of the tasks that may kill the process one attempt is under way at a time:
//     see package planner.
//   - A wake-up (hint, timer, signal) may be lost: the poll finds whatever it
//     was about, at most Poll and one read later.
//   - A claim whose fate is unknown is repeated with the same token until it
//     is known. Only the end of the process leaves one behind, to be reaped.
//   - The lock is never held during a call of the store or of Deliver, nor for work
//     on all lanes: that is done in pages and pieces, and namespaces take turns.
package dispatch
