package api

import (
	"math"
	"time"
)

// bucket is a token bucket: rate units a second flow in, up to burst, and
// whoever wants something takes some out. The zero bucket is full. Its user holds
// the lock.
type bucket struct {
	missing float64 // units to a full one, at at
	at      time.Time
}

// refill brings b to now.
func (b *bucket) refill(now time.Time, rate float64) {
	if d := now.Sub(b.at); d > 0 {
		b.missing = max(0, b.missing-d.Seconds()*rate)
		b.at = now
	}
}

// take takes up to n whole units, and returns how many there were and, where
// those were fewer, how long it is until there is another.
func (b *bucket) take(now time.Time, n int, rate, burst float64) (taken int, wait time.Duration) {
	b.refill(now, rate)
	// A unit that came to all but a billionth is whole: the sum of many small
	// refills falls short of one large one by that.
	const almost = 1e-9
	have := math.Floor(burst - b.missing + almost)
	taken = int(min(float64(n), max(0, have)))
	b.missing += float64(taken)
	if taken < n {
		wait = seconds((b.missing - burst + 1) / rate)
	}
	return taken, wait
}

// wait returns how long it is until there is a unit, without taking it.
func (b *bucket) wait(now time.Time, rate, burst float64) time.Duration {
	probe := *b
	if taken, wait := probe.take(now, 1, rate, burst); taken == 0 {
		return wait
	}
	return 0
}

// seconds is s as a Duration, at most a day: who is told to wait longer has
// gone away by then.
func seconds(s float64) time.Duration {
	const longest = 24 * time.Hour
	if s >= longest.Seconds() {
		return longest
	}
	return time.Duration(math.Ceil(s * float64(time.Second)))
}
