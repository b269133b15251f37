package wheel

import (
	"context"
	"hash/maphash"
	"iter"
	"time"
)

// Keyed is a set of timers with a key each: a session cache, a timeout for each connection, one pending reminder for
// each user. There is never more than one timer for a key. All methods may be called by any goroutine at any time, also
// from within a callback. Set, SetIfAbsent, Move, Remove and Get take effect at one instant, as those of a map behind a
// mutex would: what they return is exact.
//
// A key's timer ends when it is handed over to Config.Run, before its callback begins. From then on the key is free: Set
// makes a new timer, also from within the callback.
//
// A key that is not equal to itself, as NaN, is like a timer without a key: each Set adds one more, which fires, and
// which Len, All and Drain see, but nobody finds it by its key. A key must not change while it has a timer, as a string
// does that was made without a copy of bytes which are written again: then nobody finds it either. If K is an interface
// type, keys must be comparable, as those of a map; the methods panic otherwise.
//
// They take O(1) and the lock of one of the shards, that which the key's hash names, and do not allocate, but for what
// grows with the number of keys. A timer costs 24 bytes, about 13 more to find it by its key, and the sizes of K and V; if
// these hold no pointers the garbage collector has nothing to scan. What a million keys took is given back when they have
// gone. Keys and values are stored 2,048 at a time: if they are large, use pointers. Like a [Wheel], a Keyed has no
// goroutine while nothing is due, and needs no Close.
type Keyed[K comparable, V any] struct {
	wheel *Wheel[pair[K, V]]
	seed  maphash.Seed
	indexes []keyIndex // one for each shard, guarded by its lock
}

type pair[K comparable, V any] struct {
	key   K
	value V
}

// NewKeyed returns a Keyed that calls fire with key and value of each timer, by way of cfg.Run, once it is due, as New
// does. It panics if cfg makes no sense.
func NewKeyed[K comparable, V any](cfg Config, fire func(K, V)) *Keyed[K, V] {
	if fire == nil {
		panic("wheel: NewKeyed without a callback")
	}
	s, shards := newSettings[pair[K, V]](cfg)
	k := &Keyed[K, V]{wheel: newWheel(s, shards), seed: maphash.MakeSeed(), indexes: make([]keyIndex, shards)}
	s.fire = func(_ ID, p pair[K, V]) { fire(p.key, p.value) }
	s.claiming = k.forgetLocked
	return k
}

// Set sets the timer of key: it will fire after d, with value v. If the key has one already, that one gets the new value
// and the new deadline, in one step, and replaced is true: the old value does not fire. That needs no room, so it
// succeeds also when the Keyed is full. An error, ErrFull or ErrClosed, means that nothing was changed.
func (k *Keyed[K, V]) Set(key K, d time.Duration, v V) (replaced bool, err error) {
	hash, sh := k.place(key)
	now := sh.now()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	index, found := k.findLocked(sh, hash, key)
	switch {
	case sh.closed.Load():
		return false, ErrClosed
	case found:
		*sh.values.at(index) = pair[K, V]{key, v}
		sh.resetLocked(index, sh.nodes.at(index), now, d, true)
		return true, nil
	}
	return false, k.addLocked(sh, hash, now, d, pair[K, V]{key, v})
}

// SetIfAbsent is Set for a key that has no timer. If the key has one it returns false and leaves that as it stands.
func (k *Keyed[K, V]) SetIfAbsent(key K, d time.Duration, v V) (set bool, err error) {
	hash, sh := k.place(key)
	now := sh.now()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.closed.Load() {
		return false, ErrClosed
	}
	if _, found := k.findLocked(sh, hash, key); found {
		return false, nil
	}
	err = k.addLocked(sh, hash, now, d, pair[K, V]{key, v})
	return err == nil, err
}

// Move makes the timer of key fire after d from now, earlier or later than it stood, with the value it has. If it returns
// true the old deadline does not fire, and the new one does, once. If it returns false the key has no timer, or the
// Keyed is closed, and nothing was changed.
func (k *Keyed[K, V]) Move(key K, d time.Duration) bool {
	hash, sh := k.place(key)
	now := sh.now()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	index, found := k.findLocked(sh, hash, key)
	if !found || sh.closed.Load() {
		return false
	}
	sh.resetLocked(index, sh.nodes.at(index), now, d, true)
	return true
}

// Remove ends the timer of key and hands its value back: its callback will not run. It returns false if the key has no
// timer; the callback of a timer that has fired may not have run yet.
func (k *Keyed[K, V]) Remove(key K) (v V, ok bool) {
	hash, sh := k.place(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	index, found := k.findLocked(sh, hash, key)
	if !found {
		return v, false
	}
	sh.count.removed++
	return k.removeLocked(sh, index).value, true
}

// Get returns the value of key's timer, and how long it has to go: 0 if it is due.
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

// All yields the keys that have a timer, and its value, in no particular order. It is weakly consistent: a timer that is
// pending all the time is yielded once, one that comes or goes meanwhile may or may not be. No lock is held while it
// yields.
func (k *Keyed[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, p := range k.wheel.All() {
			if !yield(p.key, p.value) {
				return
			}
		}
	}
}

// Drain removes the timers and yields their keys and values, in no particular order, each right after it was removed: if
// the loop is left early, the rest stay. It also works after Close, and does nothing unless ranged over. Timers that are
// set meanwhile may or may not be drained; any timer is either drained, fired or removed, and once.
func (k *Keyed[K, V]) Drain() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, sh := range k.wheel.shards {
			for from := uint32(0); ; {
				p, index, ok := k.drain(sh, from)
				if !ok {
					break
				}
				if !yield(p.key, p.value) {
					return
				}
				from = index + 1
			}
		}
	}
}

// Close stops the Keyed, as [Wheel.Close] does: after it has returned no timer is handed over any more. Those that are
// still pending stay as they are, for Get, Remove and Drain; Set and Move fail.
func (k *Keyed[K, V]) Close() { k.wheel.Close() }

// Shutdown is Close, and then waits for the callbacks that Run has got, as [Wheel.Shutdown] does.
func (k *Keyed[K, V]) Shutdown(ctx context.Context) error { return k.wheel.Shutdown(ctx) }

// Stats returns the counters, as [Wheel.Stats] does. Each Move counts as a reset, and each Set that replaces.
func (k *Keyed[K, V]) Stats() Stats { return k.wheel.Stats() }

// Occupancy returns the number of timers in each slot, as [Wheel.Occupancy]
// does.
func (k *Keyed[K, V]) Occupancy() [][]int { return k.wheel.Occupancy() }

// place returns the hash of a key and the shard where its timer is, if it has one. It panics if the key's dynamic type
// is not comparable: here, where nothing is held or changed yet. Whatever was hashed can be compared.
func (k *Keyed[K, V]) place(key K) (hash uint64, sh *shard[pair[K, V]]) {
	hash = maphash.Comparable(k.seed, key)
	return hash, k.wheel.shards[hash&uint64(len(k.wheel.shards)-1)]
}

// findLocked returns the node of the timer of key.
func (k *Keyed[K, V]) findLocked(sh *shard[pair[K, V]], hash uint64, key K) (index uint32, ok bool) {
	d := k.indexes[sh.number].of(hash)
	if d.used == 0 {
		return 0, false
	}
	for slot := d.start(hash); d.slots[slot] != 0; slot = d.after(slot) {
		if t := d.slots[slot]; t.fits(hash) && sh.values.at(t.index()).key == key {
			return t.index(), true
		}
	}
	return 0, false
}

// addLocked sets a timer for a key that has none.
func (k *Keyed[K, V]) addLocked(sh *shard[pair[K, V]], hash uint64, now, d time.Duration, p pair[K, V]) error {
	if !sh.limit.reserve() {
		return sh.refusal()
	}
	sh.catchUpLocked(now)
	id, err := sh.addLocked(&sh.ticks, sh.after(now, d), p)
	if err != nil {
		sh.limit.free(1)
		return err
	}
	sh.rearmLocked(sh.instant(sh.ticks.soonest))
	if equal(p.key, p.key) {
		k.indexes[sh.number].of(hash).insert(makeTag(hash, id.index()))
	}
	return nil
}

// removeLocked ends a timer, and returns what it carried.
func (k *Keyed[K, V]) removeLocked(sh *shard[pair[K, V]], index uint32) pair[K, V] {
	k.forgetLocked(sh, index)
	p := sh.removeLocked(index, sh.nodes.at(index))
	sh.limit.free(1)
	return p
}

// forgetLocked takes a timer that is about to end off the keyIndex.
func (k *Keyed[K, V]) forgetLocked(sh *shard[pair[K, V]], index uint32) {
	if key := sh.values.at(index).key; equal(key, key) {
		hash, _ := k.place(key)
		k.indexes[sh.number].remove(hash, index)
	}
}

// equal tells NaN, which is not equal to itself, from all else.
func equal[K comparable](a, b K) bool { return a == b }

// drain removes the first timer of the nodes from index on.
func (k *Keyed[K, V]) drain(sh *shard[pair[K, V]], from uint32) (p pair[K, V], index uint32, ok bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	index, n := sh.nodes.firstLive(from)
	if n == nil {
		return p, 0, false
	}
	sh.count.drained++
	return k.removeLocked(sh, index), index, true
}
