package planner

import (
	"math"
	"time"

	"github.com/foliot/foliot/internal/settings"
)

// bucket limits how many attempts start. Over any time t at most burst + rate·t
// attempts start. All of these start if the bucket is full at first and there
// is enough work. The bucket fills on the monotonic clock.
//
// It is a token bucket that stores one instant and a count: after n starts
// since filled, it is full again at filled + n·interval. It stores n, because
// adding up intervals would accumulate rounding errors.
//
// A pick reserves a token, and its start charges the token, so a pick without a
// granted claim is never charged. A start stays charged even if the attempt
// then sends nothing.
type bucket struct {
	interval float64 // nanoseconds for one token; zero means no limit
	burst    float64
	filled   time.Duration // when count began: the bucket was full, or was configured
	count    float64       // tokens charged since filled; a fraction after a change of the rate
	reserved int
}

// configure changes the limit. Tokens that were used under the old limit still
// count, up to the depth of the new bucket.
func (b *bucket) configure(q *settings.QueueSettings, now time.Duration) {
	debt := b.debt(now)
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

// next returns the time of the next token. If there is a token, the result is
// not after now.
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

// charge takes a reserved token.
func (b *bucket) charge(now time.Duration) {
	b.reserved--
	if b.debt(now) == 0 {
		b.filled, b.count = now, 0
	}
	b.count++
}
