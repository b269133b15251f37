package wheel

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Faults of other libraries in Stop and Reset of timer handles.

// thinkgos/timer: Stop held the lock that expiry needed, and waited for expiry.
func TestStopReturnsWhileTheFunctionRuns(t *testing.T) {
	for _, run := range []Runner{Inline, Go} {
		timers := NewTimers(Config{Shards: 1, Run: run})
		entered, leave := make(chan struct{}), make(chan struct{})
		running := timers.AfterFunc(0, func() {
			close(entered)
			<-leave
		})
		other := timers.AfterFunc(time.Hour, func() {})
		<-entered
		returns(t, "Stop", func() {
			if running.Stop() || !other.Stop() || other.Stop() {
				t.Error("the answers are wrong while a function runs")
			}
		})
		close(leave)
		if err := running.StopWait(t.Context()); err != nil {
			t.Error(err)
		}
		if err := timers.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// antlabs/timer: Reset to the slot of the timer locked it twice; two Resets in
// opposite directions locked two slots in opposite order.
func TestResetToAnywhereReturns(t *testing.T) {
	timers := NewTimers(Config{Shards: 1})
	a, b := timers.AfterFunc(time.Minute, func() {}), timers.AfterFunc(time.Hour, func() {})
	returns(t, "Reset", func() {
		var wg sync.WaitGroup
		for worker := range 4 {
			wg.Go(func() {
				for i := range 2000 {
					d := time.Minute
					if (i+worker)%2 == 0 {
						d = time.Hour
					}
					for _, moved := range []bool{a.Reset(d), a.Reset(d), b.Reset(time.Hour + time.Minute - d)} {
						if !moved {
							t.Error("a pending timer was not moved")
						}
					}
				}
			})
		}
		wg.Wait()
	})
	timers.Close()
	returns(t, "a second Close", timers.Close)
}

// antlabs/timer's heap: a Stop after the firing, or a second Stop, removed
// another timer or panicked; a Reset after the firing reported success, but did
// not set the timer.
func TestLateStopsAndResetsTouchOnlyTheirOwnTimer(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		timers := NewTimers(cfg)
		var fired, again, others atomic.Int64
		var gone []*Timer
		for range 10 {
			gone = append(gone, timers.AfterFunc(0, func() { fired.Add(1) }))
		}
		once := timers.AfterFunc(0, func() { again.Add(1) })
		synctest.Wait()
		for range 20 {
			timers.AfterFunc(time.Second, func() { others.Add(1) })
		}
		for _, timer := range gone {
			for range 2 {
				if timer.Stop() {
					t.Error("Stop after the firing = true")
				}
			}
		}
		if once.Reset(time.Second) {
			t.Error("Reset after the firing = true")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if fired.Load() != 10 || again.Load() != 2 || others.Load() != 20 {
			t.Errorf("%d, %d, %d fired, want 10, 2, 20", fired.Load(), again.Load(), others.Load())
		}
		timers.Close()
	})
}

// ouqiang/timewheel: AddTimer after Stop blocked forever.
func TestASetterReturnsAfterClose(t *testing.T) {
	timers := NewTimers(Config{})
	timers.Close()
	returns(t, "AfterFunc", func() {
		timer := timers.AfterFunc(0, func() { t.Error("fired") })
		if timer.Stop() || timer.Reset(0) {
			t.Error("a timer that was made after Close is pending")
		}
		if err := timers.Sleep(t.Context(), time.Hour); err == nil {
			t.Error("Sleep after Close ends without an error")
		}
		timers.NewTicker(time.Second).Stop()
	})
}

// antlabs/timer: a periodic timer shorter than the tick ran only once.
// rfyiamcool/go-timewheel#13, #32: the first run was on time, later runs were
// early, or twice in a tick.
func TestASeriesRunsInEachPeriodAndOnlyOnce(t *testing.T) {
	const ms = time.Millisecond
	for _, period := range []time.Duration{minTick, ms, 9 * ms, 10 * ms, 11 * ms, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			const tick = 10 * ms
			timers := NewTimers(Config{Shards: 1, Tick: tick, Run: Inline})
			start := time.Now()
			var mu sync.Mutex
			var at []time.Duration
			timers.Every(period, func() {
				mu.Lock()
				defer mu.Unlock()
				at = append(at, time.Since(start))
			}, EveryOptions{})
			time.Sleep(10*time.Second + tick)
			timers.Close()
			mu.Lock()
			defer mu.Unlock()
			if want := int(10 * time.Second / max(period, tick)); len(at) < want*9/10 || len(at) > want*11/10+1 {
				t.Errorf("a period of %v: %d runs in 10 s", period, len(at))
			}
			for i := range at {
				if i > 0 && at[i]-at[i-1] < tick/2 {
					t.Fatalf("a period of %v: runs at %v and %v", period, at[i-1], at[i])
				}
				if at[i] < time.Duration(i+1)*period {
					t.Fatalf("a period of %v: run %d after %v", period, i+1, at[i])
				}
			}
		})
	}
}
