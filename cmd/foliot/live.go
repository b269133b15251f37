package main

import (
	"context"
	"io"
	"math/bits"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/wire"
)

// backup returns what copies the store, nil where nothing outlives the process.
func (n *node) backup() func(context.Context, io.Writer) error {
	if s, ok := n.store.(*pebblestore.Store); ok {
		return s.Backup
	}
	return nil
}

// live returns what the server is doing.
func (n *node) live() wire.Live {
	now := time.Now()
	s := n.dispatch.Stats()
	l := wire.Live{
		At: wire.FormatTime(now), Running: s.Running, Slots: n.files.slots,
		Late: n.late.summary(now),
		Attempts: &wire.AttemptTotals{
			Delivered: s.Delivered, Failed: s.Failed, Deferred: s.Deferred, Refused: s.Refused, Interrupted: s.Interrupted, Dead: s.Dead,
		},
		Queues: []wire.LiveQueue{}, Destinations: []wire.LiveDestination{},
	}
	for _, q := range n.dispatch.Queues() {
		if q.Running == 0 && q.Overdue == 0 {
			continue
		}
		l.Queues = append(l.Queues, wire.LiveQueue{
			Namespace: q.Namespace, Queue: q.Name, Running: q.Running, Overdue: q.Overdue, OldestMS: msOf(q.Oldest), LimitedBy: string(q.Limit),
		})
	}
	for _, d := range n.dispatch.Destinations() {
		if d.Running == 0 && d.Overdue == 0 && d.Breaker == dispatch.Closed {
			continue
		}
		shown := wire.LiveDestination{
			Namespace: d.Namespace, Destination: d.Host, Running: d.Running, Overdue: d.Overdue, OldestMS: msOf(d.Oldest), Breaker: d.Breaker.String(),
		}
		if !d.Until.IsZero() && d.Breaker == dispatch.Open {
			shown.OpenUntil = wire.FormatTime(d.Until)
		}
		l.Destinations = append(l.Destinations, shown)
	}
	return l
}

func msOf(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// lateWindow counts how late attempts began, over the last minute: a ring of
// spans, each with a histogram of sixteen buckets for each power of two of
// microseconds, so that a quantile is exact to 6 %.
type lateWindow struct {
	mu    sync.Mutex // guards spans
	spans [lateSpans]lateSpan
}

const (
	lateSpans    = 7 // six are full, one fills
	lateSpanLong = 10 * time.Second
	lateBuckets  = 40 << 4
)

type lateSpan struct {
	number  int64 // since the epoch; another one: the counts are old
	count   uint64
	max     time.Duration
	buckets [lateBuckets]uint32
}

// record notes one attempt. It costs some 30 ns.
func (w *lateWindow) record(now time.Time, late time.Duration) {
	late = max(late, 0)
	number := now.UnixNano() / int64(lateSpanLong)
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &w.spans[number%lateSpans]
	if s.number != number {
		*s = lateSpan{number: number}
	}
	s.count++
	s.max = max(s.max, late)
	s.buckets[lateBucket(late)]++
}

func lateBucket(d time.Duration) int {
	us := uint64(d.Microseconds())
	if us < 16 {
		return int(us)
	}
	shift := bits.Len64(us) - 5
	return min((shift+1)<<4|int(us>>shift)&15, lateBuckets-1)
}

// lateBucketEnd returns the largest value of a bucket.
func lateBucketEnd(b int) time.Duration {
	if b < 16 {
		return time.Duration(b) * time.Microsecond
	}
	shift := b>>4 - 1
	return time.Duration((uint64(b&15|16)+1)<<shift-1) * time.Microsecond
}

// summary returns the last minute's quantiles, nil where nothing was sent.
func (w *lateWindow) summary(now time.Time) *wire.Lateness {
	newest := now.UnixNano() / int64(lateSpanLong)
	var all lateSpan
	w.mu.Lock()
	for i := range w.spans {
		s := &w.spans[i]
		if s.number <= newest-lateSpans || s.number > newest {
			continue
		}
		all.count += s.count
		all.max = max(all.max, s.max)
		for b, n := range s.buckets {
			all.buckets[b] += n
		}
	}
	w.mu.Unlock()
	if all.count == 0 {
		return nil
	}
	return &wire.Lateness{Count: all.count, P50MS: all.quantile(0.50), P90MS: all.quantile(0.90), P99MS: all.quantile(0.99), MaxMS: msOf(all.max)}
}

// quantile returns the value, in milliseconds, that a part q is not above.
func (s *lateSpan) quantile(q float64) float64 {
	rank, seen := uint64(q*float64(s.count)), uint64(0)
	for b, n := range s.buckets {
		if seen += uint64(n); seen > rank || seen == s.count {
			return msOf(min(lateBucketEnd(b), s.max))
		}
	}
	return msOf(s.max)
}
