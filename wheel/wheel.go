package wheel

import (
	"errors"
	"time"
)

var (
	// ErrFull means that a timer was not set because Config.MaxPending timers
	// were pending, or 2^28 in one shard.
	ErrFull = errors.New("wheel: too many pending timers")

	// ErrClosed means that a timer was not set, or that a sleep or a context
	// ended, because of Close.
	ErrClosed = errors.New("wheel: closed")
)

// Wheel is a set of timers. Each carries a value of type T. Any goroutine may
// call any method at any time, also in a callback. A Wheel has no goroutine
// while nothing is due, and needs no Close: like a timer of package time, it
// stays alive while a timer is pending, and can be collected when it is empty
// and unreferenced.
//
// Adding, removing and moving a timer take O(1), no allocation, and the lock of
// one shard. Extend takes no lock. Values are stored 2,048 at a time: if T is
// large, use a pointer. New and NewBatch make a Wheel; the zero Wheel does not
// work.
type Wheel[T any] struct {
	settings *settings[T]
	shards   []*shard[T] // a power of two; immutable
}

// New returns a wheel that calls fire with the value of each timer, by way of
// cfg.Run, when it is due: never early, and at most one tick late, plus the
// time that the scheduler and Run take. It panics if cfg is invalid.
func New[T any](cfg Config, fire func(T)) *Wheel[T] {
	if fire == nil {
		panic("wheel: New without a callback")
	}
	s, shards := newSettings[T](cfg)
	s.fire = func(_ ID, v T) { fire(v) }
	return newWheel(s, shards)
}

// NewBatch is New for a callback that takes due timers in batches. That is
// several times cheaper if many timers are due at once. The slice is valid only
// during the call. A batch has timers of one shard, and with a Run other than
// Inline several calls may be in progress at the same time. If the callback
// panics, the rest of its batch is lost.
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

// Add sets a timer that fires once, after d. If d ≤ 0, it fires at once, on
// another goroutine, perhaps before Add has returned. Add returns the zero ID,
// and sets nothing, if the wheel is full or closed.
func (w *Wheel[T]) Add(d time.Duration, v T) ID {
	id, _ := w.add(d, 0, v)
	return id
}

// AddSlack is Add for a timer that may be late by up to slack more. Its
// deadline is rounded up to a multiple of the largest power-of-two number of
// ticks within slack. So many such timers share a wake-up and are moved less
// often.
func (w *Wheel[T]) AddSlack(d, slack time.Duration, v T) ID {
	id, _ := w.add(d, slack, v)
	return id
}

// AddAt sets a timer that fires when the wall clock has reached t, even if that
// clock is stepped or the machine is suspended before: a step is noticed within
// 30 s. AddAt ignores a monotonic reading of t. If t is in the past, the timer
// fires at once. AddAt returns the zero ID, and sets nothing, if the wheel is
// full or closed.
func (w *Wheel[T]) AddAt(t time.Time, v T) ID {
	id, _ := w.addAt(t, v)
	return id
}

// TryAdd is Add, but returns the reason if it sets nothing: ErrFull or
// ErrClosed.
func (w *Wheel[T]) TryAdd(d time.Duration, v T) (ID, error) {
	return w.add(d, 0, v)
}

func (w *Wheel[T]) add(d, slack time.Duration, v T) (ID, error) {
	s := w.settings
	if !s.limit.reserve() {
		return 0, w.shards[0].refuse()
	}
	now := s.now()
	tick := s.after(now, d)
	if slack > 0 && d > 0 {
		tick = s.coarsen(tick, slack)
	}
	id, err := w.lockOne().addUnlock(now, tick, v)
	if err != nil {
		s.limit.free(1)
	}
	return id, err
}

func (w *Wheel[T]) addAt(t time.Time, v T) (ID, error) {
	s := w.settings
	if !s.limit.reserve() {
		return 0, w.shards[0].refuse()
	}
	s.now() // sets the base
	id, err := w.lockOne().addAtUnlock(t, v)
	if err != nil {
		s.limit.free(1)
	}
	return id, err
}

// Reset makes a pending timer fire after d from now, earlier or later than
// before. A timer that was set by the wall clock changes to the monotonic
// clock. If Reset returns true, the old deadline does not fire and the new one
// does, once. If it returns false, the timer has fired or was removed, or the
// wheel is closed, and nothing has changed.
func (w *Wheel[T]) Reset(id ID, d time.Duration) bool { return w.move(id, d, true) }

// Extend is Reset, but never makes a timer earlier. It is the cheapest way to
// postpone a timeout again and again: one compare-and-swap, without a lock. Its
// result is as exact as that of Reset. A timer that was set by the wall clock
// stays with that clock unless it becomes later.
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

// Remove ends a pending timer and returns its value: it will not fire. If
// Remove returns false, the timer has fired or was removed before. The callback
// of a timer that has fired may still be about to run.
func (w *Wheel[T]) Remove(id ID) (v T, ok bool) {
	sh := w.shardOf(id)
	if sh == nil {
		return v, false
	}
	return sh.remove(id)
}

// Get returns the value of a pending timer and the time until its deadline,
// which is 0 if it is due.
func (w *Wheel[T]) Get(id ID) (v T, left time.Duration, ok bool) {
	sh := w.shardOf(id)
	if sh == nil {
		return v, 0, false
	}
	return sh.get(id)
}

// Len returns the number of pending timers. It reads the shards one after the
// other, so it is an estimate while timers are added and end. It never exceeds
// MaxPending.
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

// Next returns the time until the wheel has something to do. That is never
// after the earliest deadline, and before it if that is far away: then timers
// must be moved first. Next returns false if no timer is pending. It visits all
// shards.
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

// shardOf returns the shard of an ID, or nil.
func (w *Wheel[T]) shardOf(id ID) *shard[T] {
	if n := id.shard(); int(n) < len(w.shards) {
		return w.shards[n]
	}
	return nil
}
