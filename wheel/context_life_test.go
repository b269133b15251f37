package wheel

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// These tests check how contexts behave if their Timers is full or closed, and
// how many of them end together.

func TestNoContextIsLeftUnwatched(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		cfg.MaxPending = 2
		tm := NewTimers(cfg)
		parent, cancelParent := context.WithCancel(t.Context())
		defer cancelParent()
		a, cancelA := tm.WithTimeout(parent, time.Hour)
		defer cancelA()
		b, cancelB := tm.WithDeadline(parent, time.Now().Add(time.Hour).Round(0))
		defer cancelB()
		child, cancelChild := context.WithCancel(b)
		defer cancelChild()
		refused, cancel := tm.WithTimeout(parent, time.Hour)
		mustEnd(t, "without room", refused, context.Canceled, ErrFull)
		cancel()
		cancelA()
		roomy, cancel := tm.WithTimeout(parent, time.Hour)
		defer cancel()
		mustGoOn(t, "with room", roomy)
		tm.Close()
		mustEnd(t, "cancelled before Close", a, context.Canceled, context.Canceled)
		mustEnd(t, "pending at Close", b, context.Canceled, ErrClosed)
		mustEnd(t, "child of a pending context", child, context.Canceled, ErrClosed)
		for _, at := range []time.Time{time.Now().Add(time.Hour), time.Now().Add(time.Hour).Round(0)} {
			late, cancel := tm.WithDeadline(parent, at)
			mustEnd(t, "made after Close", late, context.Canceled, ErrClosed)
			cancel()
		}
		over, cancel := tm.WithTimeout(parent, 0)
		defer cancel()
		mustEnd(t, "over, and after Close", over, context.DeadlineExceeded, context.DeadlineExceeded)
	})
}

func TestCloseCancelsContextsWhileRunBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		admitted := make(chan struct{})
		tm := NewTimers(Config{Shards: 1, Run: runnerOf(func(f func()) { <-admitted; f() })})
		ctx, cancel := tm.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		tm.AfterFunc(time.Second, func() {})
		time.Sleep(2 * time.Second)
		closed := make(chan struct{})
		go func() { tm.Close(); close(closed) }()
		<-ctx.Done()
		mustEnd(t, "at Close", ctx, context.Canceled, ErrClosed)
		close(admitted)
		<-closed
	})
}

func TestContextsUnderContention(t *testing.T) {
	tm := NewTimers(Config{Shards: 2})
	var wg sync.WaitGroup
	for worker := range 32 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(5, uint64(worker)))
			for range raceOperations() / 20 / 32 {
				parent, cancelParent := context.WithCancel(context.Background())
				ctx, cancel := tm.WithTimeout(parent, time.Duration(1+r.Int64N(int64(200*time.Microsecond))))
				child, cancelChild := tm.WithTimeout(context.WithValue(ctx, ctxKey{}, 1), time.Duration(1+r.Int64N(int64(200*time.Microsecond))))
				var hooks sync.WaitGroup
				hooks.Add(1)
				context.AfterFunc(child, hooks.Done)
				var enders sync.WaitGroup
				for _, end := range []func(){cancelParent, cancel, cancelChild} {
					if r.IntN(3) == 0 {
						enders.Go(end)
					}
				}
				if r.IntN(2) == 0 {
					_ = ctx.Err()
				}
				<-child.Done()
				<-ctx.Done()
				enders.Wait()
				hooks.Wait()
				if err := ctx.Err(); err != context.Cause(ctx) || err == nil || child.Err() == nil { //nolint:errorlint // exactly the same
					t.Errorf("Err = %v, Cause = %v, child's Err = %v", err, context.Cause(ctx), child.Err())
				}
				cancelChild()
				cancel()
				cancelParent()
			}
		})
	}
	wg.Wait()
	if n := tm.Len(); n != 0 {
		t.Errorf("%d pending", n)
	}
	noError(t, tm.Shutdown(t.Context()))
	checkCounters(t, tm.use().Wheel)
}

// A hook that blocks stands for very many derived contexts.
func TestADeadlineWhoseContextsEndSlowlyDelaysNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := NewTimers(Config{Shards: 1})
		ctx, cancel := timers.WithTimeout(t.Context(), time.Second)
		defer cancel()
		hold := make(chan struct{})
		slow := ctx.(*deadlineCtx)
		hook := slow.source.hook
		slow.source.hook = func() { <-hold; hook() }
		var fired atomic.Bool
		timers.AfterFunc(time.Second+time.Millisecond, func() { fired.Store(true) })
		time.Sleep(time.Second + 2*time.Millisecond)
		synctest.Wait()
		if !fired.Load() {
			t.Error("the timer after the deadline waits")
		}
		close(hold)
		<-ctx.Done()
	})
}
