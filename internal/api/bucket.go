package api

import (
	"math"
	"time"
)

// bucket is a token bucket: rate units a second flow in, up to burst, and
// callers take units out. The zero bucket is full. Its owner must hold the
// lock.
type bucket struct {
	missing float64 // units that a full bucket has more, at time at
	at      time.Time
}

// refill adds the units that have flowed in until now.
func (b *bucket) refill(now time.Time, rate float64) {
	if d := now.Sub(b.at); d > 0 {
		b.missing = max(0, b.missing-d.Seconds()*rate)
		b.at = now
	}
}

// take takes up to n whole units and returns how many it took. If it took fewer
// than n, wait is the time until the next unit.
func (b *bucket) take(now time.Time, n int, rate, burst float64) (taken int, wait time.Duration) {
	b.refill(now, rate)
	// Treat a unit that is complete except for a billionth as whole: many small
	// refills add up to slightly less than one large refill.
	const almost = 1e-9
	have := math.Floor(burst - b.missing + almost)
	taken = int(min(float64(n), max(0, have)))
	b.missing += float64(taken)
	if taken < n {
		wait = seconds((b.missing - burst + 1) / rate)
	}
	return taken, wait
}

// wait returns the time until a unit is available. It takes none.
func (b *bucket) wait(now time.Time, rate, burst float64) time.Duration {
	probe := *b
	if taken, wait := probe.take(now, 1, rate, burst); taken == 0 {
		return wait
	}
	return 0
}

// seconds returns s as a Duration of at most a day: no client waits longer.
func seconds(s float64) time.Duration {
	const longest = 24 * time.Hour
	if s >= longest.Seconds() {
		return longest
	}
	return time.Duration(math.Ceil(s * float64(time.Second)))
}
