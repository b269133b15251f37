package idle

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"time"
)

// SetPressure shortens the timeouts of all connections under overload, as Envoy
// does. p from 0 (none) to 1 leaves 1 - p of ReadIdle, WriteIdle, AllIdle,
// Handshake and MaxAge. A p below 0 means 0, above 1 means 1, and NaN means 0.
// Pings and PongWait stay as they are.
//
// If the pressure rises, SetPressure checks every connection before it returns,
// which takes about 0.1 s for a million and delays no other calls. For
// connections that are due then, the callback is called within a resolution. If
// the pressure falls, a connection is checked when its present timeout ends.
func (g *Group[C]) SetPressure(p float64) {
	p = min(max(p, 0), 1)
	if math.IsNaN(p) { // it would make every timeout NaN
		p = 0
	}
	g.mu.Lock()
	more := p > g.pressure
	g.pressure, g.policy = p, g.limits.policy(&g.grid, p)
	g.mu.Unlock()
	if more {
		g.each(func(i uint32) {
			if g.slots.note(i).phase() == waiting {
				g.recheckLocked(i)
			}
		})
	}
}

// each calls do for every taken slot with the lock held, which it releases
// between chunks.
func (g *Group[C]) each(do func(i uint32)) {
	for first := uint32(0); g.eachOfChunk(first, do); first += chunkSize {
	}
}

func (g *Group[C]) eachOfChunk(first uint32, do func(i uint32)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if int(first/chunkSize) >= len(g.slots.chunks) {
		return false
	}
	c := g.slots.chunks[first/chunkSize]
	for at := range c.slots {
		if c.slots[at].entry != nil {
			do(first + uint32(at))
		}
	}
	return true
}

// All returns the connections, and the time since each was last read from or
// written to, accurate to a resolution, in no particular order. All holds the
// lock for one chunk at a time, but not while the body of the loop runs, so a
// connection that comes or goes during the loop may be included or not.
func (g *Group[C]) All() iter.Seq2[C, time.Duration] {
	type one struct {
		c    C
		idle time.Duration
	}
	return func(yield func(C, time.Duration) bool) {
		var some []one
		collect := func(i uint32) {
			s := g.snapshotLocked(i)
			some = append(some, one{g.slots.slot(i).c, g.grid.place(g.grid.now - min(s.used(), g.grid.now))})
		}
		for first := uint32(0); g.eachOfChunk(first, collect); first += chunkSize {
			for _, o := range some {
				if !yield(o.c, o.idle) {
					return
				}
			}
			clear(some)
			some = some[:0]
		}
	}
}

// choice is a connection that was chosen for eviction, and is spared if it is
// used before its turn.
type choice struct {
	used  uint64
	slot  uint32
	entry *Entry
}

// idlest is a heap of the connections that are idle longest, with the most
// recently used one at the top.
type idlest []choice

func (h idlest) Len() int           { return len(h) }
func (h idlest) Less(a, b int) bool { return h[a].used > h[b].used }
func (h idlest) Swap(a, b int)      { h[a], h[b] = h[b], h[a] }
func (h *idlest) Push(x any)        { *h = append(*h, x.(choice)) }
func (h *idlest) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// EvictIdlest calls the callback with the reason Evicted for the n connections
// that were not used for the longest time. It returns the number of connections
// it chose, which is less than n if there are fewer. It does not choose
// connections that are busy under WatchServer, or for which the callback is
// running. A connection that is used before its turn is spared. EvictIdlest
// checks every connection, as SetPressure does, and keeps a heap of n, or does
// nothing if n is zero or less.
func (g *Group[C]) EvictIdlest(n int) int {
	if n <= 0 {
		return 0
	}
	var chosen idlest
	g.each(func(i uint32) {
		if g.slots.note(i).phase() != waiting {
			return
		}
		s := g.snapshotLocked(i)
		switch used := s.used(); {
		case s.busy:
		case len(chosen) < n:
			heap.Push(&chosen, choice{used, i, g.slots.slot(i).entry})
		case used < chosen[0].used:
			chosen[0] = choice{used, i, g.slots.slot(i).entry}
			heap.Fix(&chosen, 0)
		}
	})
	slices.SortFunc(chosen, func(a, b choice) int { return cmp.Compare(a.used, b.used) })
	return g.ask(chosen, becauseIdlest)
}

// ask queues the chosen connections that are still waiting, and returns their
// number.
func (g *Group[C]) ask(chosen []choice, because why) (asked int) {
	for some := range slices.Chunk(chosen, batch) {
		g.mu.Lock()
		for _, c := range some {
			if c.entry.clock.Load() != g.clock || c.entry.slot != c.slot || g.slots.note(c.slot).phase() != waiting {
				continue
			}
			g.core.Remove(g.slots.slot(c.slot).timer)
			g.queueLocked(job{slot: c.slot, seen: uint32(c.used), why: because})
			asked++
		}
		g.startWorkersLocked()
		g.mu.Unlock()
	}
	return asked
}

// shortestRound is the shortest time after which Drain asks again about
// connections that were kept.
const shortestRound = 100 * time.Millisecond

// Drain calls the callback with the reason Evicted for every connection, the
// idlest first. It spreads the calls evenly over spread, so that the peers do
// not all return at once. Connections that are busy under WatchServer follow
// when they are no longer busy.
//
// If the callback keeps a connection, Drain asks again after a tenth of spread,
// but at least 100 ms and a resolution, or when KeepFor is over. Drain returns
// nil when the last connection is closed. If ctx is done first, it returns an
// error that wraps context.Cause(ctx). If the callback always keeps, only ctx
// ends Drain.
//
// From the start of Drain, Track returns ErrClosed forever, so close the
// listener first. Drain must not be called from the callback, because it would
// wait for itself.
func (g *Group[C]) Drain(ctx context.Context, spread time.Duration) error {
	g.mu.Lock()
	g.draining = true
	if g.tracked+g.closing > 0 && g.empty == nil {
		g.empty = make(chan struct{})
	}
	empty := g.empty
	g.mu.Unlock()
	if empty == nil {
		return nil
	}
	for pause := spread; ; pause = max(spread/10, shortestRound) {
		over, err := g.drainRound(ctx, empty, pause)
		if over || err != nil {
			return err
		}
	}
}

// drainRound asks about all connections, spread over a time, and returns when
// that time is over. It reports whether no connection is left.
func (g *Group[C]) drainRound(ctx context.Context, empty <-chan struct{}, spread time.Duration) (over bool, err error) {
	var all []choice
	g.each(func(i uint32) {
		s := g.snapshotLocked(i)
		all = append(all, choice{s.used(), i, g.slots.slot(i).entry})
	})
	slices.SortFunc(all, func(a, b choice) int { return cmp.Compare(a.used, b.used) })

	resolution := 2 * g.limits.step
	tick := time.Tick(resolution)
	parts := uint64(max(spread, 0)/resolution) + 1
	first := func(part uint64) uint64 { return firstOf(part, uint64(len(all)), parts) }
	for part := range parts {
		g.ask(all[first(part):first(part+1)], becauseDraining)
		select {
		case <-empty:
			return true, nil
		case <-ctx.Done():
			return false, fmt.Errorf("idle: drain: %d connections are left: %w", g.Len(), context.Cause(ctx))
		case <-tick:
		}
	}
	return false, nil
}

// firstOf returns the index of the first of n connections in a part:
// connection k is in part k·parts/n. Their product may have more than 64 bits.
func firstOf(part, n, parts uint64) uint64 {
	hi, lo := bits.Mul64(part, n)
	lo, carry := bits.Add64(lo, parts-1, 0)
	index, _ := bits.Div64(hi+carry, lo, parts)
	return index
}
