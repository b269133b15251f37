// Package dispatch sends each task when it is due. It reads the near window of
// a store.DispatchStore, claims tasks at their due instant, passes each claim to a
// Deliver, and settles the outcome.
//
// Package planner, which is pure, decides which task starts next. Dispatcher adds
// one mutex and one goroutine for each role, and only these goroutines read the
// clock and call the store:
//
//	poller    every Poll, and when a lane runs low: LanePages, Peek ──► planner
//	(hints)   from the store, as they come                      ──► planner
//	(wheel)   a lane's next due time has come                   ──► planner
//	firer     planner ──► Fire: schedules create their occurrences
//	claimer   planner ──► Claim ──► a goroutine for each attempt: Deliver
//	settler   outcomes ──► Settle, all that came since the last call
//	renewer   Extend, for long attempts
//	janitor   Sweep, Reap
//	scrubber  Scrub
//
// Invariants:
//
//   - No task is claimed before it is due, or without a slot. A slot is held
//     from the claim to the settlement, so if the store does not reply, claims
//     stop and memory does not fill.
//   - Of the tasks that can kill the process, one attempt is under way at a
//     time: see package planner.
//   - A wake-up (hint, timer, signal) can be lost. The poll finds its task at
//     most Poll and one read later.
//   - A claim without a reply is repeated with the same token until its outcome
//     is known. Only the end of the process leaves such a claim behind, to be
//     reaped.
//   - The lock is never held during a call of the store or of Deliver, nor for
//     work on all lanes. Such work is done in pages and pieces, and namespaces
//     take turns.
package dispatch
