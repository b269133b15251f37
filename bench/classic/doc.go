// Package classic holds four textbook designs of a timer, written to be measured beside Foliot: the sorted heap ([Heap]),
// the hashed wheel with rounds ([Rounds]), the clock of four hands ([Hands]) and the hierarchy with a delay queue of
// buckets ([Buckets]).
//
// All four work alike, so that their data structures alone differ. One lock guards the structure. One goroutine, which New
// starts and Close stops and waits for, takes out what is due and calls it, outside the lock, one after the other. A timer
// has fired when it is taken out: from then on Remove and Reset return false. Add and Reset read the monotonic clock once,
// and a removed timer is unlinked at once. Where an original differs, its type says so.
package classic

import "time"

// forever is how long a goroutine sleeps that has nothing to do.
const forever = time.Duration(1<<63 - 1)

// after returns now + d, without overflow; a negative d is 0.
func after(now, d time.Duration) time.Duration {
	if d <= 0 {
		return now
	}
	if d > forever-now {
		return forever
	}
	return now + d
}
