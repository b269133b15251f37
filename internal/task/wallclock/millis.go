package wallclock

import (
	"math"
	"time"
)

// Millis is an instant: milliseconds since the Unix epoch on the store's wall
// clock. The service promises milliseconds, so nothing finer is stored, and
// zero means "never" or "not yet".
type Millis int64

// CeilMillis rounds t up to the millisecond, saturating, so a task is never due
// before the instant its client named.
func CeilMillis(t time.Time) Millis {
	ms := FloorMillis(t)
	if ms < math.MaxInt64 && t.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	return ms
}

// FloorMillis rounds t down to the millisecond, saturating: UnixMilli wraps 292
// million years from 1970. Use it to read a clock, because the result is never
// ahead of the clock, so "due ≤ now" is never true too early.
func FloorMillis(t time.Time) Millis {
	switch s := t.Unix(); {
	case s >= math.MaxInt64/1000:
		return math.MaxInt64
	case s <= math.MinInt64/1000:
		return math.MinInt64
	}
	return Millis(t.UnixMilli())
}

// Time returns m in UTC.
func (m Millis) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }

// Add returns m + d, with d rounded up to the millisecond, saturating.
func (m Millis) Add(d time.Duration) Millis {
	step := Millis(d / time.Millisecond)
	if d > 0 && d%time.Millisecond != 0 {
		step++
	}
	switch {
	case step > 0 && m > math.MaxInt64-step:
		return math.MaxInt64
	case step < 0 && m < math.MinInt64-step:
		return math.MinInt64
	}
	return m + step
}

// Sub returns m - o as a duration, saturating.
func (m Millis) Sub(o Millis) time.Duration {
	const most = Millis(math.MaxInt64 / int64(time.Millisecond))
	d := m - o
	switch {
	case m > o && (d < 0 || d > most): // d < 0: the difference itself overflowed
		return math.MaxInt64
	case m < o && (d > 0 || d < -most):
		return math.MinInt64
	}
	return time.Duration(d) * time.Millisecond
}
