package wheel

import (
	"math/bits"
	"time"
)

// Stats is a snapshot of a wheel's counters since it was created, summed over the shards. The shards are read one after
// the other; at a quiet point Added = Fired + Removed + Drained + Dropped + Pending.
type Stats struct {
	Pending int    // timers that have neither fired nor were removed
	Added   uint64 // timers set
	Fired   uint64 // timers handed over to Run, which did not refuse them
	Removed uint64 // timers ended by Remove
	Drained uint64 // timers ended by Drain
	Dropped uint64 // timers whose callback never ran: a Pool refused it, or Run panicked or ended its goroutine

	Resets     uint64 // timers moved by Reset or Extend under the lock, because they had to be placed anew
	LazyResets uint64 // timers found extended when their slot came due, and moved then
	Cascades   uint64 // slots whose timers were spread over lower levels

	Wakeups         uint64 // passes of the drivers
	SpuriousWakeups uint64 // passes that handed nothing over: cascades, and timers that had gone meanwhile
	Panics          uint64 // panics that OnPanic was told of

	// How much later than their deadlines (rounded up to a tick) timers were handed over. The percentiles are upper
	// bounds, at most an eighth too high.
	LateP50, LateP99, LateMax time.Duration

	// Slots is the number of timers, as placed, in the slots of each level. A slot of level l is 64^l ticks wide. Stale
	// entries are discounted as far as they are known.
	Slots [8][64]int
}

// counters are the parts of Stats that a shard counts.
type counters struct {
	added, fired, removed, drained, dropped uint64
	resets, wakeups, spurious, panics       uint64
}

// Stats returns the wheel's counters. It takes the lock of each shard for a few microseconds.
func (w *Wheel[T]) Stats() Stats {
	var s Stats
	var late lateness
	for _, sh := range w.shards {
		sh.mu.Lock()
		s.add(&sh.count, sh.lenLocked())
		s.addLevels(&sh.ticks)
		if sh.wall != nil {
			s.addLevels(sh.wall)
		}
		late.merge(&sh.late)
		sh.mu.Unlock()
	}
	s.LateP50, s.LateP99, s.LateMax = late.percentile(50), late.percentile(99), late.max
	return s
}

func (s *Stats) add(c *counters, pending int) {
	s.Pending += pending
	s.Added += c.added
	s.Fired += c.fired
	s.Removed += c.removed
	s.Drained += c.drained
	s.Dropped += c.dropped
	s.Resets += c.resets
	s.Wakeups += c.wakeups
	s.SpuriousWakeups += c.spurious
	s.Panics += c.panics
}

func (s *Stats) addLevels(h *hierarchy) {
	s.LazyResets += h.overtook
	s.Cascades += h.cascades
	for level, busy := range h.busy {
		for ; busy != 0; busy &= busy - 1 {
			slot := bits.TrailingZeros64(busy)
			l := &h.slots[level<<slotBits|slot]
			s.Slots[level][slot] += int(l.n - l.stale)
		}
	}
}

// lateness is a histogram of how late timers were handed over: eight buckets to a power of two, from 1 µs (1,024 ns) to
// about five hours.
type lateness struct {
	n       uint64
	max     time.Duration
	buckets [lateBuckets]uint64
}

const (
	lateUnit    = 10 // bits of a nanosecond count that are not told apart
	lateSub     = 3  // bits that are, below the highest
	lateTop     = 44
	lateBuckets = (lateTop - lateUnit - lateSub + 1) << lateSub
)

func (l *lateness) record(d time.Duration) {
	d = max(0, d)
	l.n++
	l.max = max(l.max, d)
	l.buckets[lateBucket(d)]++
}

// lateBucket: below 8 units a bucket is one unit wide, above it an eighth of a power of two.
func lateBucket(d time.Duration) int {
	units := min(uint64(d), 1<<lateTop-1) >> lateUnit
	shift := max(bits.Len64(units)-lateSub-1, 0)
	return shift<<lateSub + int(units>>shift)
}

// lateBound returns the end of a bucket.
func lateBound(bucket int) time.Duration {
	shift := max(bucket>>lateSub-1, 0)
	units := uint64(bucket - shift<<lateSub)
	return time.Duration((units + 1) << shift << lateUnit)
}

func (l *lateness) merge(from *lateness) {
	l.n += from.n
	l.max = max(l.max, from.max)
	for i, n := range from.buckets {
		l.buckets[i] += n
	}
}

// percentile returns a bound that p of 100 did not exceed.
func (l *lateness) percentile(p uint64) time.Duration {
	if l.n == 0 {
		return 0
	}
	rank := (l.n*p + 99) / 100
	for i, n := range l.buckets {
		if n >= rank {
			return min(lateBound(i), l.max)
		}
		rank -= n
	}
	return l.max
}
