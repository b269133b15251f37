package tokenbucket

import (
	"math"
	"time"
)

// Bucket is a token bucket: rate units a second flow in, up to burst, and callers
// take units out. Rate and burst may change between calls, and the zero Bucket is
// full. It is not safe for concurrent use.
type Bucket struct {
	missing float64 // units that were missing at time at until the bucket is full
	at      time.Time
}

// missingAt returns the number of units that are missing at now until the bucket is
// full. If the bucket is overdrawn, the number is larger than its burst.
func (b *Bucket) missingAt(now time.Time, rate float64) float64 {
	if d := now.Sub(b.at); d > 0 {
		b.missing = max(0, b.missing-d.Seconds()*rate)
		b.at = now
	}
	return b.missing
}

// Take takes up to n whole units and returns how many it took. If it took fewer
// than n, wait is the time until the next unit.
func (b *Bucket) Take(now time.Time, n int, rate, burst float64) (taken int, wait time.Duration) {
	missing := b.missingAt(now, rate)
	// Treat a unit that is complete except for a billionth as whole: many small
	// refills add up to slightly less than one large refill.
	const almost = 1e-9
	have := math.Floor(burst - missing + almost)
	taken = int(min(float64(n), max(0, have)))
	b.missing += float64(taken)
	if taken < n {
		wait = seconds((b.missing - burst + 1) / rate)
	}
	return taken, wait
}

// Wait returns the time until a unit is available, without taking one.
func (b *Bucket) Wait(now time.Time, rate, burst float64) time.Duration {
	probe := *b
	if taken, wait := probe.Take(now, 1, rate, burst); taken == 0 {
		return wait
	}
	return 0
}

// Overdraw takes n units even if they are not available. After the call at most
// limit units are missing, unless more were missing before. Overdraw returns the
// number of missing units, and later calls wait until these have flowed in.
func (b *Bucket) Overdraw(now time.Time, n int, rate, limit float64) (missing float64) {
	before := b.missingAt(now, rate)
	b.missing = max(before, min(before+float64(n), limit))
	return b.missing
}

// seconds returns s as a Duration of at most a day, because no client waits longer.
func seconds(s float64) time.Duration {
	const longest = 24 * time.Hour
	if s >= longest.Seconds() {
		return longest
	}
	return time.Duration(math.Ceil(s * float64(time.Second)))
}
