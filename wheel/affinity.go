package wheel

import (
	"sync"
	"sync/atomic"
)

// A processor adds 1<<affinityShift timers to one shard, then moves to the next
// shard. That is enough to keep the shard's memory in the processor's cache,
// and few enough to spread the timers evenly.
const affinityShift = 7

// affinity is the shard to which a processor of the scheduler adds its timers.
// The processor stays with one shard for a while, so that the shard's lock and
// memory are in its cache while other processors use other shards. If each add
// chose a shard at random, two processors with two shards would spend more than
// half of their time waiting for each other's cache lines.
type affinity struct {
	adds uint32 // so far; the bits above affinityShift select the shard
	_    [60]byte
}

// affinities holds one affinity for each processor: a sync.Pool returns the
// value that the same processor has put back.
var (
	affinities   = sync.Pool{New: func() any { return &affinity{adds: lastAffinity.Add(1) << affinityShift} }}
	lastAffinity atomic.Uint32
)

// lockOne returns a shard for a new timer, with its lock held. A processor that
// finds its shard locked moves on to the next shard.
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
