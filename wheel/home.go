package wheel

import (
	"sync"
	"sync/atomic"
)

// homeShift is the logarithm of how many timers a processor adds to one shard before it goes on to the next: so many that
// the shard's memory stays in its cache, so few that the timers are spread evenly.
const homeShift = 7

// home is what a processor of the scheduler remembers of where it adds its timers. It stays with one shard for a while:
// its lock and its memory are in the processor's cache then, and other processors are elsewhere. With a shard chosen at
// random, two processors that share two shards spend more than half of their time waiting for each other's cache lines.
type home struct {
	adds uint32 // so far; above homeShift it names the shard
	_    [60]byte
}

// homes has one for each processor, as a pool keeps for itself what a processor has put back.
var (
	homes    = sync.Pool{New: func() any { return &home{adds: lastHome.Add(1) << homeShift} }}
	lastHome atomic.Uint32
)

// lockOne returns a shard for a new timer, with its lock held. A processor that meets another in its shard leaves it to
// that one.
func (w *Wheel[T]) lockOne() *shard[T] {
	mask := uint32(len(w.shards) - 1)
	if mask == 0 {
		sh := w.shards[0]
		sh.mu.Lock()
		return sh
	}
	h := homes.Get().(*home)
	h.adds++
	sh := w.shards[h.adds>>homeShift&mask]
	if !sh.mu.TryLock() {
		h.adds += 1 << homeShift
		sh = w.shards[h.adds>>homeShift&mask]
		homes.Put(h)
		sh.mu.Lock()
		return sh
	}
	homes.Put(h)
	return sh
}
