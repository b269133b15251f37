package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// firstWait and lastWait bound the waits before repetitions of a failed call,
// which double each time.
const firstWait, lastWait = 10 * time.Millisecond, time.Second

func nextWait(wait time.Duration) time.Duration { return min(2*wait, lastWait) }

// retry repeats a call of the store until it succeeds, and logs each failure as
// one of action. It returns the last error if ctx ends during a wait or the
// failure is final. calls is the context of the call itself, and repeated is
// false in the first call only.
func (d *Dispatcher) retry(ctx, calls context.Context, action string, call func(repeated bool) error) error {
	for wait, repeated := firstWait, false; ; wait, repeated = nextWait(wait), true {
		err := call(repeated)
		if err == nil {
			return nil
		}
		if d.logFailure(calls, action, err) || !pause(ctx, wait) {
			return err
		}
	}
}

// pause waits, or reports false if ctx ended first.
func pause(ctx context.Context, wait time.Duration) bool {
	if wait <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}

// logFailure logs a failed call of the store, and reports whether the failure
// is final, so that Run ends. A call that failed because its context ended is
// no failure, and if the store cannot be reached, the store itself logs that.
func (d *Dispatcher) logFailure(ctx context.Context, action string, err error) (final bool) {
	if ctx.Err() != nil {
		return false
	}
	if errors.Is(err, task.ErrUnavailable) { // the store logs this once for all callers
		d.config.Logger.Debug("could not "+action, "error", err)
		return false
	}
	d.config.Logger.Error("could not "+action, "error", err)
	if !errors.Is(err, task.ErrClosed) {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed == nil {
		d.failed = err
	}
	d.stop()
	return true
}
