package wheel

import (
	"math/bits"
	"time"
)

// Stats is a snapshot of a wheel's counters since the wheel was created, summed
// over the shards, which are read one after the other. While no goroutine uses
// the wheel, Added = Fired + Removed + Drained + Dropped + Pending.
type Stats struct {
	Pending int    // timers that have neither fired nor been removed
	Added   uint64 // timers that were set
	Fired   uint64 // timers that Config.Run accepted
	Removed uint64 // timers that Remove ended
	Drained uint64 // timers that Drain ended

	// Dropped counts the timers with a callback that never ran: Config.Run
	// refused it, panicked, or ended its goroutine.
	Dropped uint64

	// Refused counts the timers that were not set because the wheel was full or
	// closed. They are not in Added.
	Refused uint64

	// Resets counts the calls of Reset and Extend that moved a timer under the
	// lock, which most calls do not need.
	Resets uint64

	Wakeups uint64 // times that a driver looked for due timers
	Panics  uint64 // panics passed to OnPanic

	// LateP50, LateP99 and LateMax say how much later than their deadlines
	// timers were handed over. A deadline is rounded up to a tick first.
	// LateMax is exact, and the percentiles are upper bounds, at most an eighth
	// or 1 µs too high. A percentile above five hours is reported as about five
	// hours.
	LateP50, LateP99, LateMax time.Duration
}

// counters are the fields of Stats that a shard counts.
type counters struct {
	added, fired, removed, drained, dropped uint64
	resets, wakeups, panics                 uint64
}

// Stats returns the wheel's counters, and locks each shard for a few
// microseconds.
func (w *Wheel[T]) Stats() Stats {
	var s Stats
	var late lateness
	for _, sh := range w.shards {
		sh.mu.Lock()
		s.add(&sh.count, sh.lenLocked())
		late.merge(&sh.late)
		sh.mu.Unlock()
	}
	s.Refused = w.settings.refused.Load()
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
	s.Panics += c.panics
}

// Occupancy returns the number of timers in each slot, one row for each level,
// for programs that draw a wheel. A slot of row 0 is one tick wide, and a slot
// of any other row is as wide as the whole row before it. The numbers are
// summed over the shards and over both clocks.
//
// Timers that are due are in no slot. A timer that was moved to a later time is
// counted in its old slot until that slot is due, and removed timers for a
// while.
func (w *Wheel[T]) Occupancy() [][]int {
	rows := make([][]int, levels)
	for level := range rows {
		rows[level] = make([]int, slotCount)
	}
	for _, sh := range w.shards {
		sh.mu.Lock()
		sh.ticks.addOccupancy(rows)
		if sh.wall != nil {
			sh.wall.addOccupancy(rows)
		}
		sh.mu.Unlock()
	}
	return rows
}

func (h *hierarchy) addOccupancy(rows [][]int) {
	for level, busy := range h.busy {
		for ; busy != 0; busy &= busy - 1 {
			slot := bits.TrailingZeros64(busy)
			l := &h.slots[level<<slotBits|slot]
			rows[level][slot] += int(l.n - l.stale)
		}
	}
}

// lateness is a histogram of how late timers were handed over. It has eight
// buckets for each power of two, from 1 µs (1,024 ns) to about five hours.
type lateness struct {
	n       uint64
	max     time.Duration
	buckets [lateBuckets]uint64
}

const (
	lateUnit    = 10 // low bits of a nanosecond count that are ignored
	lateSub     = 3  // bits below the highest one that select a bucket
	lateTop     = 44
	lateBuckets = (lateTop - lateUnit - lateSub + 1) << lateSub
)

func (l *lateness) record(d time.Duration) {
	d = max(0, d)
	l.n++
	l.max = max(l.max, d)
	l.buckets[lateBucket(d)]++
}

// lateBucket returns the bucket of d. Below 8 units a bucket is one unit wide,
// above that an eighth of a power of two.
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

// percentile returns an upper bound for p of 100 timers.
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
