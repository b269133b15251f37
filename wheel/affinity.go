package wheel

import (
	"sync"
	"sync/atomic"
)

// affinityShift is the logarithm of how many timers a processor adds to one shard before it goes on to the next: so many that
// the shard's memory stays in its cache, so few that the timers are spread evenly.
const affinityShift = 7

// affinity is what a processor of the scheduler remembers of where it adds its timers. It stays with one shard for a while:
// its lock and its memory are in the processor's cache then, and other processors are elsewhere. With a shard chosen at
// random, two processors that share two shards spend more than half of their time waiting for each other's cache lines.
type affinity struct {
	adds uint32 // so far; above affinityShift it names the shard
	_    [60]byte
}

// affinities has one for each processor, as a pool keeps for itself what a processor has put back.
var (
	affinities    = sync.Pool{New: func() any { return &affinity{adds: lastAffinity.Add(1) << affinityShift} }}
	lastAffinity atomic.Uint32
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
	a := affinities.Get().(*affinity)
	a.adds++
	sh := w.shards[a.adds>>affinityShift&mask]
	if !sh.mu.TryLock() {
		a.adds += 1 << affinityShift
		sh = w.shards[a.adds>>affinityShift&mask]
		affinities.Put(a)
		sh.mu.Lock()
		return sh
	}
	affinities.Put(a)
	return sh
}
