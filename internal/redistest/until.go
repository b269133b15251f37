package redistest

import (
	"context"
	"fmt"
	"testing"
	"time"
)

const (
	// pollEvery is the time between two checks of a condition, which may need a
	// connection.
	pollEvery = 5 * time.Millisecond

	// tryTime bounds one check, because the server may be stopped.
	tryTime = 2 * time.Second
)

// Patience bounds each wait for a real server. A test that reaches it has
// failed. It is long because no test may fail on a busy machine: a promise about
// time must be judged by an event, such as the number of heartbeats.
const Patience = time.Minute

// Until waits until met, which asks a real server, returns true, and returns
// how long that took. After Patience the test fails with the text event.
func Until(t testing.TB, event string, met func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	ctx, stop := context.WithTimeout(t.Context(), Patience)
	defer stop()
	err := Poll(ctx, func(context.Context) error {
		if met() {
			return nil
		}
		return fmt.Errorf("not within %v", Patience)
	})
	if err != nil {
		t.Fatalf("%s: %v", event, err)
	}
	return time.Since(began)
}

// Poll calls try until it returns nil or ctx ends, at least once, with two
// seconds for each call, and returns the last error.
func Poll(ctx context.Context, try func(context.Context) error) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	var last error
	for {
		once, stop := context.WithTimeout(ctx, tryTime)
		err := try(once)
		stop()
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err // an error after the end of ctx contains no reason
		}
		select {
		case <-ctx.Done():
			return last
		case <-ticker.C:
		}
	}
}
