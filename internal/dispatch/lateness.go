package dispatch

import (
	"math/bits"
	"time"
)

// Lateness describes how long attempts were delayed: by this node
// (task.Outcome.Late), or by obstacles (Waited). Values are exact to 6 % upwards.
type Lateness struct {
	Count              uint64
	P50, P90, P99, Max time.Duration
}

// LastMinute returns both delays of the attempts that ended in the last minute,
// or a little longer. It costs some twenty microseconds.
func (d *Dispatcher) LastMinute() (late, waited Lateness) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.monotonic()
	return d.count.minute.summary(now), d.count.minuteWaited.summary(now)
}

// histogram counts durations in buckets: sixteen for each power of two of
// nanoseconds.
type histogram struct {
	buckets [64 << 4]uint64
	n       uint64
	max     time.Duration
}

func (h *histogram) summary() Lateness {
	return Lateness{Count: h.n, P50: h.quantile(0.50), P90: h.quantile(0.90), P99: h.quantile(0.99), Max: h.max}
}

func (h *histogram) record(d time.Duration) {
	d = max(d, 0)
	h.buckets[bucketOf(uint64(d))]++
	h.n++
	h.max = max(h.max, d)
}

// bucketOf returns the bucket of v: the position of its highest bit, and the
// next four bits.
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

// add adds the counts of other.
func (h *histogram) add(other *histogram) {
	for b, n := range other.buckets {
		h.buckets[b] += n
	}
	h.n += other.n
	h.max = max(h.max, other.max)
}

// quantile returns a value that is not exceeded by the fraction q of all
// values.
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

const (
	windowSpans = 7 // six are full, one fills
	windowSpan  = 10 * time.Second
)

// window counts the attempts of the last minute on the monotonic clock, in a ring
// of histograms, one for each span.
type window [windowSpans]struct {
	number int64 // number of the span, from 1; if it differs, the counts are old
	histogram
}

func spanAt(now time.Duration) int64 { return int64(now/windowSpan) + 1 }

func (w *window) record(now, d time.Duration) {
	s := &w[spanAt(now)%windowSpans]
	if s.number != spanAt(now) {
		s.number, s.histogram = spanAt(now), histogram{}
	}
	s.record(d)
}

func (w *window) summary(now time.Duration) Lateness {
	var all histogram
	for i := range w {
		if s := &w[i]; s.number > spanAt(now)-windowSpans {
			all.add(&s.histogram)
		}
	}
	return all.summary()
}
