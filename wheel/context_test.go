package wheel

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// mustEnd checks how a context ended.
func mustEnd(t *testing.T, what string, ctx context.Context, err, cause error) {
	t.Helper()
	select {
	case <-ctx.Done():
	default:
		t.Errorf("%s: not done", what)
	}
	if ctx.Err() != err || context.Cause(ctx) != cause { //nolint:errorlint // exactly these
		t.Errorf("%s: Err = %v, Cause = %v; want %v, %v", what, ctx.Err(), context.Cause(ctx), err, cause)
	}
}

func mustGoOn(t *testing.T, what string, ctx context.Context) {
	t.Helper()
	select {
	case <-ctx.Done():
		t.Errorf("%s: done", what)
	default:
	}
	if ctx.Err() != nil || context.Cause(ctx) != nil {
		t.Errorf("%s: Err = %v, Cause = %v", what, ctx.Err(), context.Cause(ctx))
	}
}

func TestAContextIsDoneAtItsDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm := NewTimers(cfg)
		for _, d := range []time.Duration{1, time.Millisecond, 10 * time.Second, 3 * time.Hour} {
			start := time.Now()
			byTimeout, cancel := tm.WithTimeout(t.Context(), d)
			defer cancel()
			byDeadline, cancel := tm.WithDeadline(t.Context(), start.Add(d))
			defer cancel()
			byWall, cancel := tm.WithDeadline(t.Context(), start.Add(d).Round(0))
			defer cancel()
			for i, ctx := range []context.Context{byTimeout, byDeadline, byWall} {
				<-ctx.Done()
				// Deadlines by the wall clock have other ticks.
				if late := time.Since(start) - d; late < 0 || late >= 2*tickOf(cfg) {
					t.Errorf("context %d of %v is done %v late", i, d, late)
				}
				mustEnd(t, "after the deadline", ctx, context.DeadlineExceeded, context.DeadlineExceeded)
			}
		}
	})
}

func TestADeadlineOfTheWallClockFollowsIt(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm, clock := scheduled(cfg)
		at := clock.now().Add(time.Hour)
		ctx, cancel := tm.WithDeadline(t.Context(), at)
		defer cancel()
		relative, cancel := tm.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		clock.step(2 * time.Hour) // the machine was suspended
		time.Sleep(wallCheck)
		synctest.Wait()
		mustEnd(t, "after the step", ctx, context.DeadlineExceeded, context.DeadlineExceeded)
		mustGoOn(t, "of the monotonic clock", relative)
		over, cancel := tm.WithDeadline(t.Context(), at)
		defer cancel()
		mustEnd(t, "made after the step", over, context.DeadlineExceeded, context.DeadlineExceeded)
	})
}

// foreign is a context of another package, with a channel of its own.
type foreign struct {
	context.Context
	done chan struct{}
	err  atomic.Pointer[error]
}

func (f *foreign) Done() <-chan struct{} { return f.done }
func (f *foreign) Err() error {
	if err := f.err.Load(); err != nil {
		return *err
	}
	return nil
}

func TestParentsOfOtherKinds(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm := NewTimers(cfg)
		reason := errors.New("a reason of its own")
		parent := &foreign{Context: t.Context(), done: make(chan struct{})}
		ctx, cancel := tm.WithTimeout(parent, time.Second)
		defer cancel()
		ended, cancel := tm.WithTimeout(parent, time.Hour)
		defer cancel()
		time.Sleep(2 * time.Second)
		mustEnd(t, "by its deadline", ctx, context.DeadlineExceeded, context.DeadlineExceeded)
		mustGoOn(t, "of a foreign parent", ended)
		parent.err.Store(&reason)
		close(parent.done)
		<-ended.Done()
		mustEnd(t, "by its foreign parent", ended, reason, reason)

		// A context of another package that is derived from ours.
		ours, cancel := tm.WithTimeout(t.Context(), time.Second)
		defer cancel()
		theirs := &foreign{Context: ours, done: make(chan struct{})}
		mid, cancel := tm.WithTimeout(theirs, time.Millisecond)
		defer cancel()
		time.Sleep(100 * time.Millisecond)
		mustEnd(t, "below theirs", mid, context.DeadlineExceeded, context.DeadlineExceeded)
	})
}
