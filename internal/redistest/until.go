package redistest

import (
	"context"
	"fmt"
	"testing"
	"time"
)

const (
	// pollEvery is how often a condition is looked at. Looking may cost a connection.
	pollEvery = 5 * time.Millisecond

	// lookTime bounds one look: who is asked may be stopped.
	lookTime = 2 * time.Second
)

// Until waits until met, which asks a real server, returns true, and returns how
// long that took. Where it does not within so long the test ends, with what was
// waited for.
func Until(t testing.TB, within time.Duration, what string, met func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	ctx, stop := context.WithTimeout(t.Context(), within)
	defer stop()
	err := Poll(ctx, func(context.Context) error {
		if met() {
			return nil
		}
		return fmt.Errorf("not within %v", within)
	})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return time.Since(began)
}

// Poll calls try until it returns nil or ctx ends, at least once, with two seconds
// for each time, and returns its last error.
func Poll(ctx context.Context, try func(context.Context) error) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	var last error
	for {
		once, stop := context.WithTimeout(ctx, lookTime)
		err := try(once)
		stop()
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err // after the end it says no more than that
		}
		select {
		case <-ctx.Done():
			return last
		case <-ticker.C:
		}
	}
}
