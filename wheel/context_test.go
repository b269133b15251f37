package wheel

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The promises of package context, and the tests that check them for contexts of Timers:
//
//	done at the deadline, not before; Err, Cause, Deadline    TestAContextIsDoneAtItsDeadline
//	cancel: Err, Cause, idempotent, before the deadline       TestCancellingAContext
//	a deadline in the past, a parent that is done             TestAContextThatIsOverFromTheStart
//	the parent's cancellation, with its cause                 TestAContextEndsWithItsParent
//	the parent's earlier deadline                             TestTheEarlierDeadlineHolds
//	children of any kind, in the order of derivation          TestChildrenEndWithTheirContext
//	context.AfterFunc, stopped and not                        TestAfterFuncOfAContext
//	WithoutCancel, WithValue                                  TestWithoutCancelAndValues
//	parents of other packages                                 TestParentsOfOtherKinds
//	children leave their parent; nothing is left behind       TestACancelledContextLeavesNothingBehind
//	no goroutine                                              TestChildrenNeedNoGoroutine
//	layers, and cancellations at the same time                TestLayersOfContexts, TestContextsUnderContention

type ctxKey struct{}

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
			all := []context.Context{byTimeout, byDeadline, byWall}
			for _, ctx := range all {
				if at, ok := ctx.Deadline(); !ok || !at.Equal(start.Add(d)) {
					t.Errorf("Deadline = %v, %v", at, ok)
				}
				mustGoOn(t, "before the deadline", ctx)
			}
			for i, ctx := range all {
				<-ctx.Done()
				// Deadlines by the wall clock have other ticks.
				if late := time.Since(start) - d; late < 0 || late >= 2*tickOf(cfg) {
					t.Errorf("context %d of %v is done %v late", i, d, late)
				}
				mustEnd(t, "after the deadline", ctx, context.DeadlineExceeded, context.DeadlineExceeded)
			}
		}
		var timeout interface{ Timeout() bool }
		ctx, cancel := tm.WithTimeout(t.Context(), 0)
		defer cancel()
		if !errors.As(ctx.Err(), &timeout) || !timeout.Timeout() {
			t.Error("not a timeout")
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

func TestCancellingAContext(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm := NewTimers(cfg)
		ctx, cancel := tm.WithTimeout(t.Context(), time.Hour)
		mustGoOn(t, "fresh", ctx)
		cancel()
		mustEnd(t, "cancelled", ctx, context.Canceled, context.Canceled)
		if n := tm.Len(); n != 0 {
			t.Errorf("%d timers pending after cancel", n)
		}
		cancel()
		time.Sleep(2 * time.Hour)
		mustEnd(t, "past the deadline", ctx, context.Canceled, context.Canceled)
		late, cancel := tm.WithTimeout(t.Context(), time.Second)
		time.Sleep(2 * time.Second)
		cancel()
		mustEnd(t, "cancelled after the deadline", late, context.DeadlineExceeded, context.DeadlineExceeded)
	})
}

func TestAContextThatIsOverFromTheStart(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm := NewTimers(cfg)
		reason := errors.New("a reason")
		parent, cancelParent := context.WithCancelCause(t.Context())
		cancelParent(reason)
		for _, d := range []time.Duration{-time.Hour, 0, time.Hour} {
			ctx, cancel := tm.WithTimeout(parent, d)
			mustEnd(t, "parent done", ctx, context.Canceled, reason)
			cancel()
			mustEnd(t, "parent done, cancelled", ctx, context.Canceled, reason)
		}
		for _, at := range []time.Time{time.Now(), time.Now().Add(-time.Second), time.Now().Round(0), {}} {
			ctx, cancel := tm.WithDeadline(t.Context(), at)
			mustEnd(t, "deadline over", ctx, context.DeadlineExceeded, context.DeadlineExceeded)
			if d, ok := ctx.Deadline(); !ok || !d.Equal(at) {
				t.Errorf("Deadline = %v, %v", d, ok)
			}
			child, cancelChild := context.WithCancel(ctx)
			mustEnd(t, "child", child, context.DeadlineExceeded, context.DeadlineExceeded)
			cancelChild()
			cancel()
		}
		if n := tm.Len(); n != 0 {
			t.Errorf("%d pending", n)
		}
	})
}

func TestAContextEndsWithItsParent(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm := NewTimers(cfg)
		reason := errors.New("a reason")
		for name, c := range map[string]struct {
			parent     func() (context.Context, func())
			err, cause error
		}{
			"cancelled": {func() (context.Context, func()) {
				p, cancel := context.WithCancel(t.Context())
				return p, cancel
			}, context.Canceled, context.Canceled},
			"with a cause": {func() (context.Context, func()) {
				p, cancel := context.WithCancelCause(t.Context())
				return context.WithValue(p, ctxKey{}, 1), func() { cancel(reason) }
			}, context.Canceled, reason},
			"timed out": {func() (context.Context, func()) {
				p, cancel := context.WithTimeoutCause(t.Context(), time.Second, reason)
				t.Cleanup(cancel)
				return context.WithValue(p, ctxKey{}, 1), func() { time.Sleep(time.Second); synctest.Wait() }
			}, context.DeadlineExceeded, reason},
		} {
			parent, end := c.parent()
			if _, ok := parent.Deadline(); ok { // otherwise our own deadline would not be the earlier one
				parent = noDeadline{parent}
			}
			// Read its channel, its error, or only its child.
			byDone, cancel := tm.WithTimeout(parent, time.Hour)
			defer cancel()
			byErr, cancel := tm.WithTimeout(parent, time.Hour)
			defer cancel()
			waiting, cancel := tm.WithTimeout(parent, time.Hour)
			defer cancel()
			child, cancel := context.WithCancel(context.WithValue(waiting, ctxKey{}, 2))
			defer cancel()
			done := waiting.Done()
			end()
			mustEnd(t, name, byDone, c.err, c.cause)
			if byErr.Err() != c.err { //nolint:errorlint // exactly this
				t.Errorf("%s: Err = %v right after the parent's end", name, byErr.Err())
			}
			<-done
			mustEnd(t, name, waiting, c.err, c.cause)
			mustEnd(t, name, child, c.err, c.cause)
			if n := tm.Len(); n != 0 {
				t.Errorf("%s: %d timers pending", name, n)
			}
		}
	})
}

// noDeadline hides a context's deadline.
type noDeadline struct{ context.Context }

func (noDeadline) Deadline() (time.Time, bool) { return time.Time{}, false }

func TestTheEarlierDeadlineHolds(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm := NewTimers(cfg)
		soon, cancel := tm.WithTimeout(t.Context(), time.Second)
		defer cancel()
		late, cancel := tm.WithTimeout(soon, time.Hour)
		defer cancel()
		if at, ok := late.Deadline(); !ok || time.Until(at) != time.Second || tm.Len() != 1 {
			t.Errorf("Deadline = %v, %v; %d timers", at, ok, tm.Len())
		}
		sooner, cancel := tm.WithTimeout(soon, time.Millisecond)
		defer cancel()
		time.Sleep(100 * time.Millisecond)
		mustEnd(t, "sooner", sooner, context.DeadlineExceeded, context.DeadlineExceeded)
		mustGoOn(t, "soon", soon)
		time.Sleep(time.Second)
		mustEnd(t, "late", late, context.DeadlineExceeded, context.DeadlineExceeded)
	})
}

// family makes one child of each kind.
func family(tm *Timers, ctx context.Context) (all []context.Context, cancel func()) {
	var cancels []func()
	add := func(ctx context.Context, cancel func()) {
		all, cancels = append(all, ctx), append(cancels, cancel)
	}
	add(context.WithCancel(ctx))
	add(context.WithCancel(context.WithValue(ctx, ctxKey{}, 1)))
	add(context.WithTimeout(ctx, time.Hour))
	add(tm.WithTimeout(ctx, time.Hour))
	add(tm.WithTimeout(context.WithValue(ctx, ctxKey{}, 1), time.Minute))
	add(context.WithCancel(all[0]))
	cause, cancelCause := context.WithCancelCause(all[3])
	add(cause, func() { cancelCause(nil) })
	add(tm.WithTimeout(all[1], time.Hour))
	return all, func() {
		for _, c := range cancels {
			c()
		}
	}
}

func TestChildrenEndWithTheirContext(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm := NewTimers(cfg)
		ctx, cancel := tm.WithTimeout(t.Context(), time.Second)
		children, cancelAll := family(tm, ctx)
		defer cancelAll()
		for i, child := range children {
			if mustGoOn(t, fmt.Sprint("child ", i), child); child.Value(ctxKey{}) != nil && i == 0 {
				t.Error("a value from nowhere")
			}
		}
		<-ctx.Done()
		synctest.Wait()
		for i, child := range children {
			mustEnd(t, fmt.Sprint("child ", i), child, context.DeadlineExceeded, context.DeadlineExceeded)
		}
		cancel()

		ctx, cancel = tm.WithTimeout(t.Context(), time.Second)
		children, cancelThem := family(tm, ctx)
		cancel()
		for i, child := range children { // all children must end at the same moment
			mustEnd(t, fmt.Sprint("child ", i), child, context.Canceled, context.Canceled)
		}
		cancelThem()

		ctx, cancel = tm.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, cancelChildren := family(tm, ctx)
		cancelChildren()
		if mustGoOn(t, "the parent of cancelled children", ctx); tm.Len() != 1 {
			t.Errorf("%d timers pending", tm.Len())
		}
	})
}

func TestAfterFuncOfAContext(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm := NewTimers(cfg)
		var calls atomic.Int32
		call := func() { calls.Add(1) }
		ctx, cancel := tm.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for range 3 {
			context.AfterFunc(ctx, call)
			context.AfterFunc(context.WithValue(ctx, ctxKey{}, 1), call)
		}
		stop := context.AfterFunc(ctx, func() { t.Error("called after it was stopped") })
		if !stop() || stop() {
			t.Error("stop of a hook")
		}
		synctest.Wait()
		if calls.Load() != 0 {
			t.Error("called before the deadline")
		}
		time.Sleep(2 * time.Second)
		if calls.Load() != 6 {
			t.Errorf("%d calls, want 6", calls.Load())
		}
		stop = context.AfterFunc(ctx, call)
		synctest.Wait()
		if calls.Load() != 7 || stop() {
			t.Errorf("after the deadline %d calls, want 7", calls.Load())
		}
	})
}

func TestWithoutCancelAndValues(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm := NewTimers(cfg)
		ctx, cancel := tm.WithTimeout(context.WithValue(t.Context(), ctxKey{}, "v"), time.Second)
		defer cancel()
		free := context.WithoutCancel(ctx)
		for range 2 {
			if ctx.Value(ctxKey{}) != "v" || free.Value(ctxKey{}) != "v" || ctx.Value("other") != nil {
				t.Error("values are lost")
			}
			mustGoOn(t, "without cancel", free)
			if _, ok := free.Deadline(); ok || free.Done() != nil {
				t.Error("WithoutCancel has a deadline")
			}
			time.Sleep(2 * time.Second)
		}
		again, cancel := tm.WithTimeout(free, time.Second)
		defer cancel()
		mustGoOn(t, "derived from a free context", again)
		<-again.Done()
		mustEnd(t, "derived from a free context", again, context.DeadlineExceeded, context.DeadlineExceeded)
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
