package dispatch

import (
	"math/bits"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Stats is a snapshot. Counters count since New.
type Stats struct {
	Claimed uint64 // leases obtained; each one settled is in one of the next eight
	// How attempts ended. Delivered counts successes that ended their task's
	// life; a task that was replaced meanwhile is not delivered by them.
	Delivered, Failed, Deferred, Refused, Interrupted, Unsent uint64
	Replaced                                                  uint64 // success of an incarnation that was replaced meanwhile
	Stale                                                     uint64 // the lease was not ours any more at the settlement

	Dead    uint64 // tasks that gave up, whatever the reason; also counted above
	Expired uint64 // claims that found their task expired
	Moved   uint64 // claims that found their task due later, or in another lane
	Gone    uint64 // claims that found their task cancelled, finished or running

	Hints uint64 // entries that the store told of
	Polls uint64

	Running int // claimed and not settled
	Known   int // tasks in the window
	Lanes   int // lanes in the window

	Breakers int // destinations whose breaker is open or half-open

	Late Lateness
}

// Lateness is how long after its due time an attempt started. Values are exact
// to 6 % upwards.
type Lateness struct {
	P50, P99, Max time.Duration
}

// counters is what Stats is made of.
type counters struct {
	Stats
	lateness histogram
}

func (c *counters) stats() Stats {
	s := c.Stats
	s.Late = Lateness{P50: c.lateness.quantile(0.50), P99: c.lateness.quantile(0.99), Max: c.lateness.max}
	return s
}

// settled counts an outcome whose settlement left t behind.
func (c *counters) settled(o task.Outcome, t *task.Task) {
	if t.State == task.Dead {
		c.Dead++
	}
	switch o.Verdict {
	case task.Success:
		if t.State == task.Delivered {
			c.Delivered++
		} else {
			c.Replaced++
		}
	case task.Deferral:
		c.Deferred++
	case task.Refusal:
		c.Refused++
	case task.Interrupted:
		c.Interrupted++
	case task.Unsent:
		c.Unsent++
	default:
		c.Failed++
	}
}

// histogram counts durations in buckets: sixteen for each power of two of nanoseconds.
type histogram struct {
	buckets [64 << 4]uint64
	n       uint64
	max     time.Duration
}

func (h *histogram) record(d time.Duration) {
	d = max(d, 0)
	h.buckets[bucketOf(uint64(d))]++
	h.n++
	h.max = max(h.max, d)
}

// bucketOf keeps the highest bit's place and the four bits below it.
func bucketOf(v uint64) int {
	if v < 16 {
		return int(v)
	}
	shift := bits.Len64(v) - 5
	return (shift+1)<<4 | int(v>>shift)&15
}

// bucketEnd returns the largest value of a bucket.
func bucketEnd(b int) uint64 {
	if b < 16 {
		return uint64(b)
	}
	shift := b>>4 - 1
	return (uint64(b&15|16)+1)<<shift - 1
}

// quantile returns the value that a part q of all is not larger than.
func (h *histogram) quantile(q float64) time.Duration {
	rank := uint64(q * float64(h.n))
	var seen uint64
	for b, n := range h.buckets {
		if seen += n; seen > rank || seen == h.n {
			return min(time.Duration(bucketEnd(b)), h.max)
		}
	}
	return h.max
}
