package wheel

import (
	"errors"
	"time"
)

var (
	// ErrFull says that a timer was not set because Config.MaxPending were pending (or 2^28 in one shard).
	ErrFull = errors.New("wheel: too many pending timers")

	// ErrClosed says that a timer was not set, or a sleep or a context ended, because of Close.
	ErrClosed = errors.New("wheel: closed")
)

// Wheel is a set of timers, each of which carries a value of type T. All methods may be called by any goroutine at any
// time, also from within a callback. A wheel has no goroutine while nothing is due, and needs no Close: like a timer of
// package time it stays alive while a timer is pending, and is collected when it is empty and forgotten.
//
// Adding, removing and moving a timer take O(1), no allocation, and the lock of one of the shards; Extend takes no lock.
// Values are stored 2,048 at a time: if T is large, use a pointer. New and NewBatch make a Wheel; the zero Wheel does not
// work.
type Wheel[T any] struct {
	*settings[T]
	shards []*shard[T] // a power of two; immutable
}

// New returns a wheel that calls fire with the value of each timer, by way of cfg.Run, once it is due: never early, and
// at most one tick late, plus what the scheduler and Run take. It panics if cfg makes no sense.
func New[T any](cfg Config, fire func(T)) *Wheel[T] {
	if fire == nil {
		panic("wheel: New without a callback")
	}
	s, shards := newSettings[T](cfg)
	s.fire = func(_ ID, v T) { fire(v) }
	return newWheel(s, shards)
}

// NewBatch is New for a callback that takes what is due in batches, which is several times cheaper when much is due at
// once. The slice is valid only during the call. Batches are per shard, and with a Run other than Inline several calls
// may be under way at a time. If the callback panics, the rest of its batch is lost.
func NewBatch[T any](cfg Config, fire func([]Expired[T])) *Wheel[T] {
	if fire == nil {
		panic("wheel: NewBatch without a callback")
	}
	s, shards := newSettings[T](cfg)
	s.fireBatch = fire
	return newWheel(s, shards)
}

func newWheel[T any](s *settings[T], shards int) *Wheel[T] {
	w := &Wheel[T]{settings: s, shards: make([]*shard[T], shards)}
	for i := range w.shards {
		w.shards[i] = newShard(s, i)
	}
	return w
}

// Add sets a timer that fires once, after d; d ≤ 0 fires at once, on another goroutine, perhaps before Add has returned.
// It returns the zero ID, and sets nothing, if the wheel is full or closed.
func (w *Wheel[T]) Add(d time.Duration, v T) ID {
	id, _ := w.add(d, 0, v)
	return id
}

// AddSlack is Add for a timer that may be late by up to slack more. Its deadline is rounded up to a multiple of the
// largest power-of-two number of ticks within slack, so that many such timers share a wake-up and are moved less often.
func (w *Wheel[T]) AddSlack(d, slack time.Duration, v T) ID {
	id, _ := w.add(d, slack, v)
	return id
}

// AddAt sets a timer that fires once the wall clock has reached t, also if that clock is stepped meanwhile or the machine
// suspended: a step is noticed within 30 s. Any monotonic reading of t is ignored; a t in the past fires at once. It
// returns the zero ID, and sets nothing, if the wheel is full or closed.
func (w *Wheel[T]) AddAt(t time.Time, v T) ID {
	id, _ := w.addAt(t, v)
	return id
}

// TryAdd is Add, and says why it did not: ErrFull or ErrClosed.
func (w *Wheel[T]) TryAdd(d time.Duration, v T) (ID, error) {
	return w.add(d, 0, v)
}

func (w *Wheel[T]) add(d, slack time.Duration, v T) (ID, error) {
	if !w.limit.reserve() {
		return 0, w.shards[0].refusal()
	}
	now := w.now()
	tick := w.after(now, d)
	if slack > 0 && d > 0 {
		tick = w.coarsen(tick, slack)
	}
	id, err := w.lockOne().addUnlock(now, tick, v)
	if err != nil {
		w.limit.free(1)
	}
	return id, err
}

func (w *Wheel[T]) addAt(t time.Time, v T) (ID, error) {
	if !w.limit.reserve() {
		return 0, w.shards[0].refusal()
	}
	w.now() // sets the base
	id, err := w.lockOne().addAtUnlock(t, v)
	if err != nil {
		w.limit.free(1)
	}
	return id, err
}

// Reset makes a pending timer fire after d from now, earlier or later than it stood; one that was set by the wall clock
// no longer is. If it returns true the old deadline does not fire, and the new one does, once. If it returns false the
// timer had fired or was removed, or the wheel is closed, and nothing was changed.
func (w *Wheel[T]) Reset(id ID, d time.Duration) bool { return w.move(id, d, true) }

// Extend is Reset, but never makes a timer earlier than it stands. It is the cheapest way to put a timeout off
// again and again: one compare-and-swap, without a lock. Its result is as exact as that of Reset. A timer that was set by
// the wall clock stays with that clock unless it becomes later.
func (w *Wheel[T]) Extend(id ID, d time.Duration) bool { return w.move(id, d, false) }

func (w *Wheel[T]) move(id ID, d time.Duration, earlier bool) bool {
	sh := w.shardOf(id)
	if sh == nil || !w.started.Load() {
		return false
	}
	ok, sure := sh.extend(id, w.after(time.Since(w.base), d), earlier)
	if sure {
		return ok
	}
	return sh.reset(id, d, earlier)
}

// Remove ends a pending timer and hands its value back: it will not fire. If it returns false the timer had fired (its
// callback may be yet to run) or was removed before.
func (w *Wheel[T]) Remove(id ID) (v T, ok bool) {
	sh := w.shardOf(id)
	if sh == nil {
		return v, false
	}
	return sh.remove(id)
}

// Get returns the value of a pending timer, and how long it has to go: 0 if it is due.
func (w *Wheel[T]) Get(id ID) (v T, left time.Duration, ok bool) {
	sh := w.shardOf(id)
	if sh == nil {
		return v, 0, false
	}
	return sh.get(id)
}

// Len returns the number of pending timers. It visits all shards, one after the other, so while timers come and go
// meanwhile it is an estimate; but never more than MaxPending.
func (w *Wheel[T]) Len() int {
	n := 0
	for _, sh := range w.shards {
		sh.mu.Lock()
		n += sh.lenLocked()
		sh.mu.Unlock()
	}
	if w.limit != nil { // a timer that went and one that came instead may both have been counted
		n = int(min(int64(n), w.limit.max))
	}
	return n
}

// Next returns how long it is until the wheel has something to do: never later than the earliest deadline, sooner if
// that is far off, when timers are moved on the way. It returns false if none is pending. It visits all shards.
func (w *Wheel[T]) Next() (left time.Duration, ok bool) {
	left = maxDuration
	for _, sh := range w.shards {
		if d, pending := sh.next(); pending {
			left, ok = min(left, d), true
		}
	}
	if !ok {
		return 0, false
	}
	return left, true
}

// shardOf returns the shard that an ID names, or nil.
func (w *Wheel[T]) shardOf(id ID) *shard[T] {
	if n := id.shard(); int(n) < len(w.shards) {
		return w.shards[n]
	}
	return nil
}
