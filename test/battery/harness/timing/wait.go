package timing

import (
	"context"
	"time"
)

// Pause waits for d. If ctx ends before, it returns false at once.
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

// SpreadOver returns the i-th of count instants that divide a span evenly. It
// divides before it multiplies: a day in nanoseconds times i overflows at
// i = 106,752, and then the instant would be in the past.
func SpreadOver(start time.Time, span time.Duration, i, count int) time.Time {
	return start.Add(time.Duration(i) * (span / time.Duration(count)))
}

// DueIn returns the instant at the distance d from now, in whole milliseconds.
// The API keeps milliseconds, so each task is judged by the requested time.
func DueIn(d time.Duration) time.Time { return time.Now().Add(d).Truncate(time.Millisecond) }
