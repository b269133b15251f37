// Package classic contains four textbook designs of a timer, to compare with
// Foliot: the sorted heap ([Heap]), the hashed wheel with rounds ([Rounds]),
// the clock of four hands ([Hands]) and the hierarchy with a delay queue of
// buckets ([Buckets]).
//
// All four work in the same way, so that only their data structures differ. One
// lock guards the structure. New starts one goroutine; Close stops it and waits.
// The goroutine removes due timers from the structure and runs their callbacks
// outside the lock, one after another. A timer has fired as soon as the goroutine
// has removed it: after that, Remove and Reset return false. Add and Reset read
// the monotonic clock once. A timer that a caller removes is unlinked at once. The
// comment of each type says how the original design differs.
package classic

import "time"

// forever is the time that a goroutine sleeps if no timer is pending.
const forever = time.Duration(1<<63 - 1)

// after returns now + d without overflow. It treats a negative d as 0.
func after(now, d time.Duration) time.Duration {
	if d <= 0 {
		return now
	}
	if d > forever-now {
		return forever
	}
	return now + d
}
