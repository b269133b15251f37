package wheel

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestShutdownEndsWithItsContextWhileRunBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		admitted := make(chan struct{})
		var ran atomic.Int32
		w := New(Config{Shards: 2, Run: runnerOf(func(f func()) { <-admitted; f() })}, func(int) { ran.Add(1) })
		w.Add(time.Second, 1)
		time.Sleep(2 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := w.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown = %v", err)
		}
		close(admitted)
		if err := w.Shutdown(t.Context()); err != nil || ran.Load() != 1 {
			t.Errorf("Shutdown = %v, %d ran", err, ran.Load())
		}
		checkCounters(t, w)
	})
}

func TestCloseStopsEveryShardBeforeItWaitsForOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		admitted := make(chan struct{})
		var handed atomic.Int32
		w := New(Config{Shards: 2, Run: runnerOf(func(f func()) { handed.Add(1); <-admitted; f() })}, func(int) {})
		addTo(w.shards[0], time.Second, 1)
		addTo(w.shards[1], time.Minute, 2)
		time.Sleep(2 * time.Second)
		closed := make(chan struct{})
		go func() { w.Close(); close(closed) }()
		time.Sleep(time.Hour)
		if handed.Load() != 1 {
			t.Errorf("%d handed over, one of them after Close had begun", handed.Load())
		}
		close(admitted)
		<-closed
		checkCounters(t, w)
	})
}

// A Run may pass f on and then panic. Then f must not run, so that no timer is
// both dropped and fired.
func TestACallbackThatRunPanickedOverDoesNotRunLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, batch := range []bool{false, true} {
			var ran, told atomic.Int32
			cfg := Config{
				Shards:  1,
				OnPanic: func(any, []byte) { told.Add(1) },
				Run: runnerOf(func(f func()) {
					time.AfterFunc(time.Second, f)
					panic("after f was taken")
				}),
			}
			w := New(cfg, func(int) { ran.Add(1) })
			if batch {
				w = NewBatch(cfg, func([]Expired[int]) { ran.Add(1) })
			}
			w.Add(time.Second, 1)
			time.Sleep(time.Minute)
			noError(t, w.Shutdown(t.Context()))
			if s := checkCounters(t, w); s.Dropped != 1 || s.Fired != 0 || ran.Load() != 0 || told.Load() != 1 {
				t.Errorf("%d dropped, %d fired, %d ran, %d panics reported", s.Dropped, s.Fired, ran.Load(), told.Load())
			}
		}
	})
}

func TestARunThatCallsTwiceRunsACallbackOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		w := New(Config{Shards: 1, Run: runnerOf(func(f func()) { f(); go f() })}, func(int) { ran.Add(1) })
		w.Add(time.Second, 1)
		time.Sleep(time.Minute)
		if err := w.Shutdown(t.Context()); err != nil || ran.Load() != 1 {
			t.Errorf("ran %d times, Shutdown = %v", ran.Load(), err)
		}
	})
}
