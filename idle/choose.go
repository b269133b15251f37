package idle

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"
)

// SetPressure shortens the timeouts of all connections under overload, Envoy's way: p from 0 (none) to 1 leaves 1 - p of ReadIdle,
// WriteIdle, AllIdle, Handshake and MaxAge. Pings and the waits for their pongs stay as they are. More pressure than before looks at
// every connection before it returns, about 0.1 s for a million, without holding up others; what is due then is asked about within a
// resolution. Less takes effect as the timeouts come due.
func (g *Group[C]) SetPressure(p float64) {
	p = min(max(p, 0), 1)
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

// each calls do for the seats that are taken, with the lock, of which it lets go now and then.
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

// All returns the connections and for how long each has neither been read from nor written to, to a resolution. It goes over them in
// no particular order, holding the lock for a chunk at a time but not while the loop's body runs: a connection that comes or goes
// meanwhile may be among them or not.
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

// choice is a connection that was chosen to go, unless it is used until it is asked about.
type choice struct {
	used  uint64
	slot  uint32
	entry *Entry
}

// idlest is a heap of those that are idle longest, with the one that was used last on top.
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

// EvictIdlest asks about the n connections that were not used for the longest time, with the reason Evicted, and returns how many it
// has chosen: fewer than n if there are fewer. Those that are busy under HTTP, or are being asked about, are not chosen. One that is used
// before its turn is spared. It looks at every connection, as SetPressure does, and keeps a heap of n.
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

// ask queues those of the chosen that are still waiting, and returns how many.
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

// shortestRound is how long Drain waits at least until it asks again about those that were kept.
const shortestRound = 100 * time.Millisecond

// Drain asks about every connection, with the reason Evicted, the idlest first, spread evenly over a time so that the peers do not
// all return at once; about those that are busy under HTTP when they no longer are. Those that `on` keeps are asked about again after a
// tenth of spread, at least 100 ms and a resolution, or when KeepFor is over. It returns nil when the last connection is closed, or an
// error when ctx is done; nothing else ends it if `on` goes on keeping. Track fails with ErrClosed from its beginning on, for good: close
// the listener first. It must not be called from `on`, for which it would wait.
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

// drainRound asks about all, spread over a time, and returns when that is over. It tells whether nobody is left.
func (g *Group[C]) drainRound(ctx context.Context, empty <-chan struct{}, spread time.Duration) (over bool, err error) {
	var all []choice
	g.each(func(i uint32) {
		s := g.snapshotLocked(i)
		all = append(all, choice{s.used(), i, g.slots.slot(i).entry})
	})
	slices.SortFunc(all, func(a, b choice) int { return cmp.Compare(a.used, b.used) })

	resolution := 2 * g.limits.step
	ticker := time.NewTicker(resolution)
	defer ticker.Stop()
	parts := int(spread/resolution) + 1
	first := func(part int) int { return (part*len(all) + parts - 1) / parts } // of a part; number k is in part k·parts/len(all)
	for part := range parts {
		g.ask(all[first(part):first(part+1)], becauseDraining)
		select {
		case <-empty:
			return true, nil
		case <-ctx.Done():
			return false, fmt.Errorf("idle: drain: %d connections are left: %w", g.Len(), context.Cause(ctx))
		case <-ticker.C:
		}
	}
	return false, nil
}
