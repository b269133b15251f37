package wheel

import (
	"context"
	"sync"
	"time"
)

// DelayQueue is a queue of elements that can be taken after a delay. Take blocks
// until an element is due, like DelayQueue in Java. Any number of goroutines may
// take, and each element is taken once, or removed. A due element stays in the
// queue until a taker has it, so it can still be removed. All methods are safe
// for concurrent use.
//
// No element is taken early, because delays are rounded up to 1 ms. Elements are
// taken in the order of their deadlines, and those of the same tick in no
// particular order. Put, Take and Remove take one lock and O(1) time, Take on
// average: it may have to move elements between slots first. An element costs 24
// bytes and its value, and memory for values is allocated for 2,048 elements at
// a time: if T is large, use a pointer.
//
// A DelayQueue has no goroutine and needs no Close, and belongs to the
// testing/synctest bubble in which it was made. NewDelayQueue makes a
// DelayQueue; the zero DelayQueue does not work.
//
// A wheel with a callback that sends to a channel is a queue too, and a select
// can wait for it. But the callback blocks until a taker is ready, and Remove
// does not find the element that it holds.
type DelayQueue[T any] struct {
	clock *settings[T]  // only its clock is used
	look  chan struct{} // holds a token if a taker must look into the queue at once
	alarm *time.Timer   // rings when a taker must look into the queue

	mu    sync.Mutex // guards everything below
	core  *Core[T]
	armed uint64 // the tick that alarm is set for, or never
}

// NewDelayQueue returns an empty queue.
func NewDelayQueue[T any]() *DelayQueue[T] {
	clock, _ := newSettings[T](Config{})
	return &DelayQueue[T]{
		clock: clock,
		look:  make(chan struct{}, 1),
		alarm: time.NewTimer(maxDuration),
		core:  NewCore[T](0),
		armed: never,
	}
}

// Put adds an element that is due after d, or at once if d ≤ 0. The ID is for
// Remove. Put returns ErrFull, and adds nothing, only if the queue has 2^28
// elements.
func (q *DelayQueue[T]) Put(d time.Duration, v T) (ID, error) {
	now := q.clock.now()
	tick := q.clock.after(now, d)
	q.mu.Lock()
	defer q.mu.Unlock()
	id, err := q.core.Add(tick, v)
	q.lookAtLocked(tick, now)
	return id, err
}

// Take waits until an element is due, and takes the first one. If ctx is done
// before the call, or before an element is due, Take returns ctx.Err() and takes
// nothing. If both happen at about the same time, Take may do either.
func (q *DelayQueue[T]) Take(ctx context.Context) (v T, err error) {
	if err := ctx.Err(); err != nil {
		return v, err
	}
	for {
		v, ok := q.poll()
		if ok {
			return v, nil
		}
		select {
		case <-q.look:
		case <-q.alarm.C:
		case <-ctx.Done():
			return v, ctx.Err()
		}
	}
}

// Remove removes an element, due or not, and returns it. It returns false if
// the element was taken or removed before.
func (q *DelayQueue[T]) Remove(id ID) (v T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.core.Remove(id)
}

// Len returns the number of elements, due or not.
func (q *DelayQueue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.core.Len()
}

// poll takes an element if one is due. While the queue is not empty, each poll
// causes another one: by a token if an element is due, otherwise by the alarm.
func (q *DelayQueue[T]) poll() (v T, ok bool) {
	now := q.clock.now()
	tick := q.clock.floor(now)
	q.mu.Lock()
	defer q.mu.Unlock()
	ok = q.core.Advance(tick, 1, func(_ ID, due T) { v = due }) == 1
	if q.armed <= tick {
		q.armed = never // the alarm has rung, or need not ring any more
	}
	if next, pending := q.core.Next(); pending {
		q.lookAtLocked(next, now)
	}
	return v, ok
}

// lookAtLocked makes a taker poll at a tick, unless one polls before.
func (q *DelayQueue[T]) lookAtLocked(tick uint64, now time.Duration) {
	left := q.clock.instant(tick) - now
	switch {
	case left <= 0:
		select {
		case q.look <- struct{}{}:
		default: // a token is there
		}
	case tick < q.armed:
		q.armed = tick
		q.alarm.Reset(left)
	}
}
