package wheel

import (
	"errors"
	"time"
)

var (
	// ErrFull means that a timer was not set because Config.MaxPending timers
	// were pending, or 2^28 in one shard.
	ErrFull = errors.New("wheel: the timer is not set: too many are pending; remove some, or raise Config.MaxPending")

	// ErrClosed means that Close came first: a timer was not set, or a sleep or
	// a context ended early.
	ErrClosed = errors.New("wheel: the timer is not set, or has ended early: Close was called before")
)

// Wheel is a set of timers, each with a value of type T. All methods are safe
// for concurrent use, including from callbacks. A Wheel has no goroutine while
// nothing is due, and needs no Close: like a timer of package time, it stays
// alive while a timer is pending. It can be collected when it is empty and
// unreferenced.
//
// Adding, removing and moving a timer is O(1), allocates nothing, and locks one
// shard. Extend usually takes no lock. Memory for values is allocated for 2,048
// timers at a time: if T is large, use a pointer. New and NewBatch make a
// Wheel; the zero Wheel does not work.
type Wheel[T any] struct {
	settings *settings[T]
	shards   []*shard[T] // a power of two; immutable
}

// New returns a wheel. When a timer is due, the wheel passes a call of fire
// with the timer's value to cfg.Run. That is never early, and at most one tick
// late, plus the time that the scheduler and cfg.Run take.
//
// fire must be safe for concurrent use, unless calls cannot overlap. They
// overlap with Go, with a Pool of several workers, and even with Inline if the
// wheel has more than one shard. With Inline and Config.Shards 1, or with a
// Pool of one worker that does not spill, there is one call at a time.
//
// New panics if fire is nil or cfg is invalid.
func New[T any](cfg Config, fire func(T)) *Wheel[T] {
	if fire == nil {
		panic("wheel: New without a callback")
	}
	s, shards := newSettings[T](cfg)
	s.fire = func(_ ID, v T) { fire(v) }
	return newWheel(s, shards)
}

// NewBatch is New for a callback that takes due timers in batches of up to 256,
// which is several times cheaper if many timers are due at once. The slice is
// valid only during the call, and all its timers belong to one shard. Calls of
// fire may overlap, as New describes: with Inline too, one for each shard. If
// fire panics, the rest of its batch is lost. NewBatch panics if fire is nil or
// cfg is invalid.
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

// Add sets a timer that fires once, after d. If d ≤ 0, the timer is due at
// once: it may fire before Add has returned, but never on the goroutine of the
// caller.
//
// If Add returns ErrFull or ErrClosed, it has set nothing, and the ID is zero.
// A wheel without Config.MaxPending that is not closed returns no error, unless
// 2^28 timers are pending in a shard.
func (w *Wheel[T]) Add(d time.Duration, v T) (ID, error) {
	s := w.settings
	if !s.limit.reserve() {
		return 0, w.shards[0].refuse()
	}
	now := s.now()
	tick := s.after(now, d)
	id, err := w.lockOne().addUnlock(now, tick, v)
	if err != nil {
		s.limit.free(1)
	}
	return id, err
}

// AddAt is Add for an instant of the wall clock, or for a timer with slack. If
// when is invalid, AddAt also sets nothing and returns an error.
func (w *Wheel[T]) AddAt(when When, v T) (ID, error) {
	s := w.settings
	if err := when.check(); err != nil {
		return 0, err
	}
	if !s.limit.reserve() {
		return 0, w.shards[0].refuse()
	}
	now := s.now()
	var id ID
	var err error
	if when.At.IsZero() {
		tick := s.afterWith(now, when)
		id, err = w.lockOne().addUnlock(now, tick, v)
	} else {
		id, err = w.lockOne().addWallUnlock(when, v)
	}
	if err != nil {
		s.limit.free(1)
	}
	return id, err
}

// Reset makes a pending timer fire after d from now, earlier or later than
// before. A timer of the wall clock becomes one of the monotonic clock. If Reset
// returns true, the timer does not fire at the old deadline, and fires once at
// the new one. If Reset returns false, nothing has changed: the timer has fired
// or was removed, or the wheel is closed.
//
// If the new deadline is later, Reset costs the same as Extend; otherwise it
// locks the shard.
func (w *Wheel[T]) Reset(id ID, d time.Duration) bool { return w.move(id, d, true) }

// Extend is Reset, but never makes a timer earlier. It is the cheapest way to
// postpone a timeout again and again, and its result is as exact as that of
// Reset. A timer of the wall clock keeps following it unless Extend makes it
// later.
//
// Extend is usually one compare-and-swap without a lock. It locks the shard in
// two cases: for a timer of the wall clock, and if a multiple of 2^27 ticks lies
// between the old and the new deadline. With ticks of 1 ms, that happens once in
// 37 hours, however often the timer is extended. Stats.Resets counts the timers
// that were moved under the lock.
func (w *Wheel[T]) Extend(id ID, d time.Duration) bool { return w.move(id, d, false) }

func (w *Wheel[T]) move(id ID, d time.Duration, earlier bool) bool {
	sh, s := w.shardOf(id), w.settings
	if sh == nil || !s.started.Load() {
		return false
	}
	ok, sure := sh.extend(id, s.after(time.Since(s.base), d), earlier)
	if sure {
		return ok
	}
	return sh.reset(id, d, earlier)
}

// Remove ends a pending timer, so that it will not fire, and returns its value.
// If Remove returns false, the timer was removed before or has fired, though
// its callback may not have begun yet. Remove also works after Close.
func (w *Wheel[T]) Remove(id ID) (v T, ok bool) {
	sh := w.shardOf(id)
	if sh == nil {
		return v, false
	}
	return sh.remove(id)
}

// Get returns the value of a pending timer and the time until its deadline,
// which is 0 if the timer is due. Get locks one shard.
func (w *Wheel[T]) Get(id ID) (v T, left time.Duration, ok bool) {
	sh := w.shardOf(id)
	if sh == nil {
		return v, 0, false
	}
	return sh.get(id)
}

// Len returns the number of pending timers. It locks the shards one after the
// other, so the result is an estimate while timers are added and end. It never
// exceeds MaxPending.
func (w *Wheel[T]) Len() int {
	n := 0
	for _, sh := range w.shards {
		sh.mu.Lock()
		n += sh.lenLocked()
		sh.mu.Unlock()
	}
	if l := w.settings.limit; l != nil { // a timer that ended and the one added in its place may both have been counted
		n = int(min(int64(n), l.max))
	}
	return n
}

// shardOf returns the shard of an ID, or nil.
func (w *Wheel[T]) shardOf(id ID) *shard[T] {
	if n := id.shard(); int(n) < len(w.shards) {
		return w.shards[n]
	}
	return nil
}
