package wheel

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Each test of this file and of the other peers_*_test.go is about a promise
// that another timer library for Go has broken. Its comment names the library
// and the fault. This file is about calls that never return.

// returns fails the test if f does not return.
func returns(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		f()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s blocks", what)
	}
}

// antlabs/timer: Reset to the slot of the timer locked that slot twice.
func TestResetIntoTheSameSlotReturns(t *testing.T) {
	r := newRecorder()
	w := New(Config{Shards: 1}, r.fire)
	defer w.Close()
	returns(t, "Reset", func() {
		for level := range 6 {
			d := time.Millisecond<<(slotBits*level) + time.Hour
			id := w.Add(d, level)
			for range 100 {
				if !w.Reset(id, d) || !w.Reset(id, d-1) || !w.Extend(id, d+1) {
					t.Error("a pending timer was not moved")
				}
			}
		}
	})
}

// antlabs/timer: two Resets in opposite directions locked two slots in opposite
// order.
func TestResetsInOppositeDirectionsDoNotDeadlock(t *testing.T) {
	w := New(Config{Shards: 1}, func(int) {})
	defer w.Close()
	near, far := w.Add(time.Minute, 0), w.Add(time.Hour, 1)
	returns(t, "Reset", func() {
		var wg sync.WaitGroup
		for k := range 4 {
			wg.Go(func() {
				for i := range raceOperations() / 10 {
					if (i+k)%2 == 0 {
						w.Reset(near, time.Hour)
						w.Reset(far, time.Minute)
					} else {
						w.Reset(far, time.Hour)
						w.Reset(near, time.Minute)
					}
				}
			})
		}
		wg.Wait()
	})
}

// RussellLuo/timingwheel: an add during Stop waited forever for a driver that
// had ended.
func TestAnAddDuringCloseReturns(t *testing.T) {
	for range 20 {
		w := New(Config{Shards: 1, Tick: minTick}, func(int) {})
		returns(t, "Add", func() {
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for w.Add(minTick, 0) != 0 {
					}
				})
			}
			wg.Go(w.Close)
			wg.Wait()
		})
		for range w.Drain() {
		}
		checkCounters(t, w)
	}
}

// rfyiamcool/go-timewheel: the second Stop waited for a goroutine that had
// ended with the first.
func TestASecondCloseReturns(t *testing.T) {
	for _, used := range []bool{false, true} {
		w := New(Config{}, func(int) {})
		if used {
			w.Add(time.Hour, 0)
		}
		returns(t, "Close", func() {
			w.Close()
			w.Close()
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(w.Close)
			}
			wg.Wait()
			if err := errors.Join(w.Shutdown(t.Context()), w.Shutdown(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
}

// ouqiang/timewheel: AddTimer after Stop wrote to a channel without a reader.
func TestAnAddAfterCloseReturnsAndIsRefused(t *testing.T) {
	w := New(Config{}, func(int) { t.Error("fired") })
	w.Close()
	returns(t, "Add", func() {
		if _, err := w.TryAdd(0, 0); !errors.Is(err, ErrClosed) {
			t.Errorf("TryAdd = %v", err)
		}
		if w.Add(0, 0) != 0 || w.AddSlack(0, 1, 0) != 0 || w.AddAt(time.Now(), 0) != 0 {
			t.Error("a closed wheel took a timer")
		}
	})
}

// thinkgos/timer: Stop held the lock that expiry needed, while it waited for
// expiry.
func TestARemoveReturnsWhileACallbackRuns(t *testing.T) {
	for _, run := range []Runner{Inline, Go} {
		entered, leave := make(chan struct{}), make(chan struct{})
		w := New(Config{Shards: 1, Run: run}, func(int) {
			entered <- struct{}{}
			<-leave
		})
		id, other := w.Add(0, 1), w.Add(time.Hour, 2)
		<-entered
		returns(t, "Remove", func() {
			if _, ok := w.Remove(id); ok {
				t.Error("removed a timer that had fired")
			}
			if _, ok := w.Remove(other); !ok || w.Reset(id, 0) || w.Extend(id, 0) {
				t.Error("the answers are wrong while a callback runs")
			}
		})
		close(leave)
		if err := w.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// thinkgos/timer: the pool was called under the lock. When it was full,
// callbacks that added a timer waited for that lock, and the pool waited for
// the callbacks.
func TestARunThatBlocksHoldsNoLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		worker := make(chan struct{}, 1) // a pool with one worker, which blocks when it is busy
		var ended atomic.Int32
		var closing atomic.Bool
		var w *Wheel[int]
		w = New(Config{Shards: 1, Run: runnerOf(func(f func()) {
			worker <- struct{}{}
			go func() {
				f()
				<-worker
			}()
		})}, func(v int) {
			time.Sleep(time.Second)
			if w.Add(time.Millisecond, v+1) == 0 && !closing.Load() {
				t.Error("an add in a callback failed")
			}
			ended.Add(1)
		})
		for range 5 {
			w.Add(time.Millisecond, 0)
		}
		time.Sleep(30500 * time.Millisecond)
		if n := ended.Load(); n < 30 {
			t.Errorf("%d callbacks ended in half a minute", n)
		}
		closing.Store(true)
		if err := w.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// xiaoxuxiansheng/timewheel: a deadline in the past caused a panic that ended
// the wheel's goroutine.
func TestADeadlineInThePastStopsNoOtherTimer(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		r := newRecorder()
		w := New(cfg, r.fire)
		for _, at := range []time.Time{{}, time.Unix(0, 0), time.Unix(-1<<40, 0), time.Now().Add(-1)} {
			w.AddAt(at, 1)
			w.Add(time.Until(at), 1)
			w.Reset(w.Add(time.Hour, 1), -time.Hour)
			synctest.Wait()
		}
		w.Add(time.Second, 2)
		time.Sleep(2 * time.Second)
		if got := r.values(); len(got) != 13 || got[12] != 2 {
			t.Errorf("fired %v", got)
		}
		checkCounters(t, w)
	})
}
