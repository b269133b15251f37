package wheel

import (
	"context"
	"hash/maphash"
	"iter"
	"time"
)

// Keyed is a set of timers, at most one for each key. All methods are safe for
// concurrent use, including from callbacks. Set, SetAt, SetIfAbsent, Move,
// Remove and Get are linearizable, like the methods of a map behind a mutex:
// their results are exact.
//
// The timer of a key ends when it is handed over to Config.Run, before its
// callback begins. From then on the key is free: Set makes a new timer, even in
// the callback.
//
// A key that is not equal to itself, such as NaN, cannot be found: each Set
// adds another timer, which fires and is counted by Len, All and Drain. A key
// must not change while it has a timer. For example, a string built with unsafe
// from a byte slice changes when the slice changes, and then its timer cannot
// be found. If K is an interface type, keys must be comparable, as in a map;
// otherwise the methods panic.
//
// These methods are O(1), lock one shard, which the key's hash selects, and
// allocate only when the number of keys grows. A timer costs 24 bytes, about 13
// more in the index of keys, and the sizes of K and V. If K and V hold no
// pointers, the garbage collector has nothing to scan. The memory of removed
// keys is freed. Memory for keys and values is allocated for 2,048 timers at a
// time, so if they are large, use pointers.
//
// Like a [Wheel], a Keyed has no goroutine while nothing is due, and needs no
// Close. It has neither Extend nor batches, because each call finds its timer
// under the shard's lock. NewKeyed makes a Keyed; the zero Keyed does not work.
type Keyed[K comparable, V any] struct {
	wheel   *Wheel[pair[K, V]]
	seed    maphash.Seed
	indexes []keyIndex // one for each shard, guarded by its lock
}

// pair has the value first: at the end, a struct{} would take room.
type pair[K comparable, V any] struct {
	value V
	key   K
}

// NewKeyed returns a Keyed. When a timer is due, the Keyed passes a call of
// fire with the timer's key and value to cfg.Run. Calls of fire may overlap, as
// New describes. NewKeyed panics if fire is nil or cfg is invalid.
func NewKeyed[K comparable, V any](cfg Config, fire func(K, V)) *Keyed[K, V] {
	if fire == nil {
		panic("wheel: NewKeyed without a callback")
	}
	s, shards := newSettings[pair[K, V]](cfg)
	k := &Keyed[K, V]{wheel: newWheel(s, shards), seed: maphash.MakeSeed(), indexes: make([]keyIndex, shards)}
	s.fire = func(_ ID, p pair[K, V]) { fire(p.key, p.value) }
	s.expiring = k.forgetLocked
	return k
}

// Set sets the timer of key: it will fire after d, or at once if d ≤ 0, with
// value v. If the key has a timer already, Set gives that timer the new value
// and deadline in one step and returns replaced = true: the old value does not
// fire. Replacing needs no room, so it succeeds even if the Keyed is full. If
// Set returns ErrFull or ErrClosed, nothing has changed.
func (k *Keyed[K, V]) Set(key K, d time.Duration, v V) (replaced bool, err error) {
	hash, sh := k.place(key)
	now := sh.now()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	index, found := k.findLocked(sh, hash, key)
	sh.catchUpLocked(now)
	tick := sh.after(now, d)
	switch {
	case sh.closed.Load():
		return false, sh.refuse()
	case found:
		*sh.values.at(index) = pair[K, V]{v, key}
		sh.resetLocked(&sh.ticks, index, sh.nodes.at(index), tick, true)
		return true, nil
	}
	return false, k.addLocked(sh, hash, &sh.ticks, tick, pair[K, V]{v, key})
}

// SetAt is Set for an instant of the wall clock, or for a timer with slack. If
// when is invalid, SetAt also changes nothing and returns an error. A later Set
// or Move makes the timer one of the monotonic clock.
func (k *Keyed[K, V]) SetAt(key K, when When, v V) (replaced bool, err error) {
	if err := when.check(); err != nil {
		return false, err
	}
	hash, sh := k.place(key)
	now := sh.now()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	index, found := k.findLocked(sh, hash, key)
	sh.catchUpLocked(now)
	h, tick := &sh.ticks, sh.afterWith(now, when)
	if !when.At.IsZero() {
		tick = sh.wallTickLocked(when)
		h = sh.wall
	}
	switch {
	case sh.closed.Load():
		return false, sh.refuse()
	case found:
		*sh.values.at(index) = pair[K, V]{v, key}
		sh.resetLocked(h, index, sh.nodes.at(index), tick, true)
		return true, nil
	}
	return false, k.addLocked(sh, hash, h, tick, pair[K, V]{v, key})
}

// SetIfAbsent is Set for a key that has no timer. If the key has one,
// SetIfAbsent returns false and changes nothing. If it returns ErrFull or
// ErrClosed, nothing has changed either.
func (k *Keyed[K, V]) SetIfAbsent(key K, d time.Duration, v V) (set bool, err error) {
	hash, sh := k.place(key)
	now := sh.now()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.closed.Load() {
		return false, sh.refuse()
	}
	if _, found := k.findLocked(sh, hash, key); found {
		return false, nil
	}
	sh.catchUpLocked(now)
	err = k.addLocked(sh, hash, &sh.ticks, sh.after(now, d), pair[K, V]{v, key})
	return err == nil, err
}

// Move makes the timer of key fire after d from now, earlier or later than
// before, with its present value. If Move returns true, the timer does not fire
// at the old deadline, and fires once at the new one. If Move returns false,
// nothing has changed: the key has no timer, or the Keyed is closed.
func (k *Keyed[K, V]) Move(key K, d time.Duration) bool {
	hash, sh := k.place(key)
	now := sh.now()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	index, found := k.findLocked(sh, hash, key)
	if !found || sh.closed.Load() {
		return false
	}
	sh.catchUpLocked(now)
	sh.resetLocked(&sh.ticks, index, sh.nodes.at(index), sh.after(now, d), true)
	return true
}

// Remove ends the timer of key, so that its callback will not run, and returns
// its value. It returns false if the key has no timer. If the timer has fired,
// its callback may not have begun yet. Remove also works after Close.
func (k *Keyed[K, V]) Remove(key K) (v V, ok bool) {
	hash, sh := k.place(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	index, found := k.findLocked(sh, hash, key)
	if !found {
		return v, false
	}
	sh.count.removed++
	k.forgetLocked(sh, index)
	v = sh.removeLocked(index, sh.nodes.at(index)).value
	sh.limit.free(1)
	return v, true
}

// Get returns the value of key's timer and the time until its deadline, which
// is 0 if the timer is due.
func (k *Keyed[K, V]) Get(key K) (v V, left time.Duration, ok bool) {
	hash, sh := k.place(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	index, found := k.findLocked(sh, hash, key)
	if !found {
		return v, 0, false
	}
	return sh.values.at(index).value, sh.leftLocked(sh.nodes.at(index), time.Since(sh.base)), true
}

// Len returns the number of pending timers, as [Wheel.Len] does.
func (k *Keyed[K, V]) Len() int { return k.wheel.Len() }

// All yields the keys that have a timer, with their values, in no particular
// order. It is weakly consistent: a timer that is pending during the whole loop
// is yielded once, and one that is added or ends during the loop may be
// missing. All locks a shard for 128 timers at a time, and holds no lock while
// it yields.
func (k *Keyed[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, p := range k.wheel.All() {
			if !yield(p.key, p.value) {
				return
			}
		}
	}
}

// Drain removes the timers and yields their keys and values, in no particular
// order, each right after its removal. If the loop ends early, the rest stay.
// Drain also works after Close, and does nothing until it is ranged over.
// Timers that are set during the loop may or may not be drained, but each timer
// is drained, fired or removed, exactly once. Drain locks a shard for one timer
// at a time, and holds no lock while it yields.
func (k *Keyed[K, V]) Drain() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, p := range k.wheel.Drain() {
			if !yield(p.key, p.value) {
				return
			}
		}
	}
}

// Close stops the Keyed, as [Wheel.Close] does: after it has returned, no timer
// is handed over. Pending timers stay for Get, Remove and Drain, while Set and
// Move fail.
func (k *Keyed[K, V]) Close() { k.wheel.Close() }

// Shutdown is Close, and then waits for the callbacks that Run has accepted, as
// [Wheel.Shutdown] does.
func (k *Keyed[K, V]) Shutdown(ctx context.Context) error { return k.wheel.Shutdown(ctx) }

// Stats returns the counters, as [Wheel.Stats] does. Each Move counts as a
// reset, and so does each Set that replaces a timer.
func (k *Keyed[K, V]) Stats() Stats { return k.wheel.Stats() }

// place returns the hash of a key and the shard of its timer. If the key's
// dynamic type is not comparable, place panics while no lock is held and
// nothing has changed. Every key that can be hashed can be compared.
func (k *Keyed[K, V]) place(key K) (hash uint64, sh *shard[pair[K, V]]) {
	hash = maphash.Comparable(k.seed, key)
	return hash, k.wheel.shards[hash&uint64(len(k.wheel.shards)-1)]
}

// findLocked returns the node of the timer of key.
func (k *Keyed[K, V]) findLocked(sh *shard[pair[K, V]], hash uint64, key K) (index uint32, ok bool) {
	s := k.indexes[sh.number].of(hash)
	if s.used == 0 {
		return 0, false
	}
	for slot := s.start(hash); s.slots[slot] != 0; slot = s.after(slot) {
		if t := s.slots[slot]; t.matches(hash) && sh.values.at(t.index()).key == key {
			return t.index(), true
		}
	}
	return 0, false
}

// addLocked sets a timer for a key that has none.
func (k *Keyed[K, V]) addLocked(sh *shard[pair[K, V]], hash uint64, h *hierarchy, tick uint64, p pair[K, V]) error {
	if !sh.limit.reserve() {
		return sh.refuse()
	}
	id, err := sh.addLocked(h, tick, p)
	if err != nil {
		sh.limit.free(1)
		return err
	}
	if h == &sh.ticks {
		sh.rearmLocked(sh.instant(h.soonest))
	} else {
		sh.rearmWallLocked()
	}
	if equal(p.key, p.key) {
		k.indexes[sh.number].of(hash).insert(makeTag(hash, id.index()))
	}
	return nil
}

// forgetLocked removes the tag of a timer that is about to end.
func (k *Keyed[K, V]) forgetLocked(sh *shard[pair[K, V]], index uint32) {
	if key := sh.values.at(index).key; equal(key, key) {
		hash, _ := k.place(key)
		k.indexes[sh.number].remove(hash, index)
	}
}

// equal reports false for NaN and itself.
func equal[K comparable](a, b K) bool { return a == b }
