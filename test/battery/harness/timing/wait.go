package timing

import (
	"context"
	"time"
)

// Pause returns after d, or with false as soon as ctx ends.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Until pauses up to an instant.
func Until(ctx context.Context, t time.Time) bool { return Pause(ctx, time.Until(t)) }

// SpreadOver returns the i-th of count instants that divide a span evenly. The
// step is divided first: i times a day in nanoseconds overflows at i = 106,752, and
// the instant would lie in the past.
func SpreadOver(start time.Time, span time.Duration, i, count int) time.Time {
	return start.Add(time.Duration(i) * (span / time.Duration(count)))
}

// DueIn returns the instant that far from now, in whole milliseconds. The API keeps
// milliseconds, so each task is judged against the time that was requested.
func DueIn(d time.Duration) time.Time { return time.Now().Add(d).Truncate(time.Millisecond) }
