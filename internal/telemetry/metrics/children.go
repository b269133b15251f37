package metrics

import (
	"maps"
	"sync"
	"sync/atomic"
)

// children caches resolved series, so that an event costs one map lookup and no
// lock, and the zero value is empty.
type children[K comparable, V any] struct {
	m  atomic.Pointer[map[K]*V] // the map never changes: add replaces it. Read without mu
	mu sync.Mutex               // held by add
}

// get returns the series of key, or nil if there are none yet.
func (c *children[K, V]) get(key K) *V {
	if m := c.m.Load(); m != nil {
		return (*m)[key]
	}
	return nil
}

// add returns the series of key, and creates them with make if there are none.
// It copies the map, so it suits small numbers of keys only.
func (c *children[K, V]) add(key K, make func() *V) *V {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.all()
	if v := old[key]; v != nil {
		return v
	}
	next := maps.Clone(old)
	if next == nil {
		next = map[K]*V{}
	}
	next[key] = make()
	c.m.Store(&next)
	return next[key]
}

// len returns the number of keys with series.
func (c *children[K, V]) len() int { return len(c.all()) }

// all returns the present map, which the caller must not change.
func (c *children[K, V]) all() map[K]*V {
	if m := c.m.Load(); m != nil {
		return *m
	}
	return nil
}
