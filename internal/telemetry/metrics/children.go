package metrics

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
)

// children holds series that were resolved once, so that an event costs one
// look-up in a map and no lock. The zero children is empty.
type children[K comparable, V any] struct {
	m  atomic.Pointer[map[K]*V] // never written to again: add replaces it. Read without mu
	mu sync.Mutex               // held by add
}

// get returns the series of key, nil where there are none yet.
func (c *children[K, V]) get(key K) *V {
	if m := c.m.Load(); m != nil {
		return (*m)[key]
	}
	return nil
}

// add returns the series of key, made by make where there are none. It copies
// the map: it is for keys of which there are few.
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

// len returns how many keys have series.
func (c *children[K, V]) len() int { return len(c.all()) }

// all returns what there is, for reading only.
func (c *children[K, V]) all() map[K]*V {
	if m := c.m.Load(); m != nil {
		return *m
	}
	return nil
}

// sentence joins what a logger was given.
func sentence(v []any) string { return strings.TrimSpace(fmt.Sprintln(v...)) }
