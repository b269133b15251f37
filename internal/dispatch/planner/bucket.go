package planner

import (
	"math"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// bucket limits how many attempts start: over any time t no more than burst +
// rate·t, and no fewer where there is work. It fills by the clock that never
// steps.
//
// It is the token bucket in the form that computes with one instant: with n
// starts since filled, the bucket is full again at filled + n·interval. That
// instant is computed from the count and not added up, so that nothing drifts.
//
// A pick reserves a token, and its start charges it: what is picked and not
// granted was never charged.
type bucket struct {
	interval float64 // nanoseconds for one token; 0: no limit
	burst    float64
	filled   time.Duration // when it was full last
	count    float64       // charged since; a fraction after a change of the rate
	reserved int

	// A charge can be taken back only while it is known to have kept no refill
	// from the bucket: a bucket that was full in between, or would have been
	// without the charges that may still be taken back, has lost nothing.
	mark uint64 // counts the times when that was not so
	out  int    // charged, and may be taken back
}

// configure changes the limit. What was used of the old one counts on, in
// tokens, at most as far as the new bucket is deep.
func (b *bucket) configure(q *task.QueueSettings, now time.Duration) {
	debt := b.debt(now)
	b.mark++
	if q.Rate == 0 {
		b.interval, b.burst, b.count = 0, 0, 0
		return
	}
	b.interval, b.burst = float64(time.Second)/q.Rate, float64(q.BurstOrDefault())
	b.filled, b.count = now, min(debt, b.burst)
}

func (b *bucket) limited() bool { return b.interval > 0 }

// debt returns how many tokens the bucket lacks.
func (b *bucket) debt(now time.Duration) float64 {
	if !b.limited() {
		return 0
	}
	return max(b.count-float64(now-b.filled)/b.interval, 0)
}

// next returns when there is a token: at or before now, if there is one.
func (b *bucket) next(now time.Duration) time.Duration {
	if !b.limited() {
		return 0
	}
	from, short := b.filled, b.count
	if b.debt(now) == 0 {
		from, short = now, 0
	}
	short += float64(b.reserved+1) - b.burst
	if short <= 0 {
		return from
	}
	return from + time.Duration(math.Ceil(short*b.interval))
}

// charge takes the token that was reserved, and returns the mark under which
// takeBack may undo that.
func (b *bucket) charge(now time.Duration) uint64 {
	b.reserved--
	debt := b.debt(now)
	if debt < float64(b.out) {
		b.mark++
	}
	if debt == 0 {
		b.filled, b.count = now, 0
	}
	b.count++
	b.out++
	return b.mark
}

// end notes how a start that was charged under mark has ended; unsent, it is
// taken back where that gives nobody more than his share.
func (b *bucket) end(mark uint64, unsent bool) {
	b.out--
	if unsent && mark == b.mark && b.limited() {
		b.count--
	}
}
