// Package batches decides which calls of a client travel together in one
// request. It reads no clock and sends nothing.
package batches

import (
	"slices"
	"time"
)

const (
	// MaxUnderWay is the number of batches that may be under way.
	MaxUnderWay = 4
	// Slow is the time after which a batch under way no longer counts, so that
	// calls do not wait for a server or a connection that hangs.
	Slow = 100 * time.Millisecond
	// MaxCalls is the highest number of calls in a batch.
	MaxCalls = 1000
	// MaxBytes is the highest size of a batch, unless one call alone is larger.
	MaxBytes = 8 << 20
)

// Queue has the calls that wait. While fewer than MaxUnderWay batches are under
// way, none does, so a call goes out alone as soon as it is added. Otherwise the
// calls wait until a batch has ended or is slow, and then go out as one batch.
// The caller provides locking and the time.
type Queue[T comparable] struct {
	waiting  []entry[T] // in the order of Add
	underWay []flight   // the batches that count, the earliest first
	last     uint64     // id of a batch
}

type entry[T any] struct {
	call T
	size int
	most int // the largest batch that it may be in
}

type flight struct {
	id    uint64
	began time.Time
}

// Add adds a call of that size, which then waits for Next. It may be in a batch
// of at most that many calls.
func (q *Queue[T]) Add(call T, size, most int) {
	q.waiting = append(q.waiting, entry[T]{call, size, most})
}

// Next returns the batch that goes out now, and its id for End. It returns nil if
// no call may go out. Call it after each change until it returns nil.
func (q *Queue[T]) Next(now time.Time) (id uint64, calls []T) {
	q.underWay = slices.DeleteFunc(q.underWay, func(f flight) bool { return now.Sub(f.began) >= Slow })
	if len(q.waiting) == 0 || len(q.underWay) >= MaxUnderWay {
		return 0, nil
	}
	bytes, most := 0, MaxCalls
	for _, e := range q.waiting {
		most = min(most, e.most)
		if bytes += e.size; len(calls) > 0 && (len(calls) >= most || bytes > MaxBytes) {
			break
		}
		calls = append(calls, e.call)
	}
	q.waiting = slices.Delete(q.waiting, 0, len(calls))
	q.last++
	q.underWay = append(q.underWay, flight{q.last, now})
	return q.last, calls
}

// End reports that a batch is no longer under way.
func (q *Queue[T]) End(id uint64) {
	q.underWay = slices.DeleteFunc(q.underWay, func(f flight) bool { return f.id == id })
}

// Remove removes a waiting call. It reports false if the call does not wait,
// because it went out.
func (q *Queue[T]) Remove(call T) bool {
	i := slices.IndexFunc(q.waiting, func(e entry[T]) bool { return e.call == call })
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// Wake returns the time at which Next must be called even if nothing changes:
// the earliest batch is then slow. It is the zero time if no call waits.
func (q *Queue[T]) Wake() time.Time {
	if len(q.waiting) == 0 || len(q.underWay) == 0 {
		return time.Time{}
	}
	return q.underWay[0].began.Add(Slow)
}
