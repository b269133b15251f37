package wheel

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheZeroTimersIsReady(t *testing.T) {
	var tm Timers // made outside, used inside
	synctest.Test(t, func(t *testing.T) {
		fired := make(chan bool, 1)
		tm.AfterFunc(time.Second, func() { fired <- true })
		<-fired
		<-tm.After(time.Second)
		noError(t, tm.Sleep(t.Context(), time.Second))
		if s := tm.Stats(); s.Fired != 3 || tm.Len() != 0 {
			t.Errorf("%d fired, %d pending", s.Fired, tm.Len())
		}
	})
	var unused Timers
	unused.Close()
	if unused.AfterFunc(0, func() { t.Error("called") }).Stop() {
		t.Error("a timer is pending after Close")
	}
}

func TestConcurrentFirstUsesMakeOneWheel(t *testing.T) {
	for range 100 {
		var tm Timers
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() { tm.AfterFunc(time.Hour, func() {}) })
		}
		wg.Wait()
		if n := tm.Len(); n != 8 {
			t.Fatalf("%d timers of 8", n)
		}
		tm.Close()
	}
}

// A callback that sleeps blocks its shard, or all workers of its Pool and so
// the shard. The timer of the sleep may be in that shard.
func TestSleepReturnsInACallback(t *testing.T) {
	runs := map[string]func() Runner{
		"inline":                func() Runner { return Inline },
		"a function that calls": func() Runner { return runnerOf(func(f func()) { f() }) },
		"a pool that blocks":    func() Runner { return NewPool(PoolConfig{Workers: 1}) },
		"go":                    func() Runner { return Go },
	}
	for name, run := range runs {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tm, start := NewTimers(Config{Shards: 1, Run: run()}), time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // of package time
				defer cancel()
				slept := make(chan time.Duration, 3)
				for range cap(slept) {
					tm.AfterFunc(time.Second, func() {
						before := time.Now()
						if err := tm.Sleep(ctx, time.Minute); err != nil {
							t.Errorf("Sleep = %v", err)
						}
						slept <- time.Since(before)
					})
				}
				for range cap(slept) {
					if d := <-slept; d < time.Minute || d > time.Minute+2*defaultTick {
						t.Errorf("Sleep(1m) took %v", d)
					}
				}
				if took := time.Since(start); tm.Len() != 0 || took > time.Hour {
					t.Errorf("%d pending after %v", tm.Len(), took)
				}
			})
		})
	}
}

func TestSleepEndsByItsContextOrByClose(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		cfg.MaxPending = 3
		tm := NewTimers(cfg)
		start := time.Now()
		if err := tm.Sleep(t.Context(), time.Minute); err != nil || time.Since(start) < time.Minute {
			t.Errorf("Sleep = %v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := tm.Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || tm.Len() != 0 {
			t.Errorf("Sleep = %v, %d pending", err, tm.Len())
		}
		for _, d := range []time.Duration{0, time.Hour} {
			if err := tm.Sleep(ctx, d); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("with a context that is done, Sleep(%v) = %v", d, err)
			}
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if err := tm.Sleep(t.Context(), time.Hour); !errors.Is(err, ErrClosed) {
					t.Errorf("Sleep = %v, want ErrClosed", err)
				}
			})
		}
		synctest.Wait()
		if err := tm.Sleep(t.Context(), time.Hour); !errors.Is(err, ErrFull) {
			t.Errorf("Sleep = %v, want ErrFull", err)
		}
		tm.Close()
		start = time.Now()
		if wg.Wait(); time.Since(start) != 0 {
			t.Errorf("sleepers woke %v after Close", time.Since(start))
		}
		for _, d := range []time.Duration{-1, 0, time.Hour} {
			if err := tm.Sleep(t.Context(), d); !errors.Is(err, ErrClosed) {
				t.Errorf("after Close, Sleep(%v) = %v", d, err)
			}
		}
	})
}

func TestNothingFiresAfterClose(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm := NewTimers(cfg)
		fail := func() { t.Error("called after Close") }
		f, c, ticker := tm.AfterFunc(time.Hour, fail), tm.NewTimer(time.Hour), tm.NewTicker(3*time.Second)
		sent := tm.NewTimer(time.Second)
		r := newRecorder()
		running := tm.Every(1500*time.Millisecond, func() { r.fire(0); time.Sleep(5 * time.Second) }, EveryOptions{Missed: FireAll})
		pending := tm.Every(time.Minute, fail, EveryOptions{})
		time.Sleep(2 * time.Second)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(tm.Close)
		}
		wg.Wait()
		if len(sent.C) != 1 || !sent.Reset(time.Second) || len(sent.C) != 0 {
			t.Error("a time sent before Close must stay until it is received, or until Reset")
		}
		noError(t, tm.Shutdown(t.Context())) // the running one ends
		if n := tm.Len(); n != 4 {
			t.Errorf("%d pending, want f, c, the ticker and a series", n)
		}
		for timer := range tm.Drain() {
			if timer != f && timer != pending {
				t.Error("drained another timer")
			}
		}
		if !c.Stop() {
			t.Error("Stop of a timer that is pending after Close")
		}
		ticker.Stop()
		if n := tm.Len(); n != 0 {
			t.Errorf("%d pending", n)
		}
		ticker.Reset(time.Second)
		late, lateTicker := tm.NewTimer(0), tm.NewTicker(time.Second)
		for i, timer := range []*Timer{f, c, sent, running, pending, late, tm.AfterFunc(0, fail), tm.Every(1, fail, EveryOptions{})} {
			if timer.Stop() || timer.Reset(1) || timer.Stop() {
				t.Errorf("timer %d is pending after Close", i)
			}
			noError(t, timer.StopWait(t.Context()))
		}
		after := tm.After(0)
		time.Sleep(24 * time.Hour)
		if len(c.C)+len(after)+len(late.C)+len(ticker.C)+len(lateTicker.C) != 0 {
			t.Error("a time was sent after Close")
		}
		if n := len(r.values()); n != 1 {
			t.Errorf("%d runs of a series that was closed in its first", n)
		}
		checkCounters(t, tm.use().Wheel)
	})
}

func TestDrainReturnsTheFunctionsThatArePending(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		cfg.MaxPending = 400
		tm := NewTimers(cfg)
		called, want := map[int]int{}, map[*Timer]int{}
		set := func(make func(f func()) *Timer) {
			n := len(want)
			want[make(func() { called[n]++ })] = n
		}
		for range 100 {
			set(func(f func()) *Timer { return tm.AfterFunc(time.Hour, f) })
			set(func(f func()) *Timer { return tm.Every(time.Hour, f, EveryOptions{}) })
			set(func(f func()) *Timer { return tm.ScheduleFunc(hourly, f) })
		}
		c, ticker := tm.NewTimer(time.Hour), tm.NewTicker(time.Hour)
		ctx, cancel := tm.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		woke := make(chan error, 1)
		go func() { woke <- tm.Sleep(t.Context(), time.Hour) }()
		synctest.Wait()

		tm.Drain() // not ranged over, so it does nothing
		drained := 0
		for timer, f := range tm.Drain() {
			n, ok := want[timer]
			if f(); !ok || called[n] != 1 || timer.Stop() {
				t.Errorf("drained timer %d, known %t, with %d calls", n, ok, called[n])
			}
			if drained++; drained == 50 {
				tm.Close() // and Drain goes on
			}
			if drained == 100 {
				break
			}
		}
		for range tm.Drain() {
			drained++
		}
		if drained != 300 || tm.use().rooms.n.Load() != 2 {
			t.Errorf("%d drained, %d rooms taken", drained, tm.use().rooms.n.Load())
		}
		if err := <-woke; !errors.Is(err, ErrClosed) {
			t.Errorf("the sleep ended with %v", err)
		}
		if context.Cause(ctx) != ErrClosed { //nolint:errorlint // exactly the same
			t.Errorf("the context ended with %v", context.Cause(ctx))
		}
		ticker.Stop()
		if !c.Stop() {
			t.Error("a timer with a channel was drained")
		}
		time.Sleep(2 * time.Hour)
		if len(called) != 100 || tm.Len() != 0 || tm.use().rooms.n.Load() != 0 {
			t.Errorf("%d called, %d pending, %d rooms taken", len(called), tm.Len(), tm.use().rooms.n.Load())
		}
		checkCounters(t, tm.use().Wheel)
	})
}

// Drain reads 128 timers at a time, so a series can begin to run after Drain has
// read it.
func TestDrainLeavesASeriesWhoseFunctionRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tm := NewTimers(Config{Shards: 1})
		release := make(chan bool)
		first := tm.AfterFunc(time.Hour, func() {})
		runs := 0
		series := tm.Every(time.Minute, func() { runs++; <-release }, EveryOptions{})
		for timer := range tm.Drain() {
			if timer != first {
				t.Error("drained a series while its function runs")
			}
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		release <- true
		time.Sleep(time.Minute)
		synctest.Wait()
		if runs != 2 {
			t.Errorf("%d runs of a series that was not drained", runs)
		}
		close(release)
		series.Stop()
	})
}

// Each function runs once, or is drained once.
func TestDrainUnderContentionLosesNoFunction(t *testing.T) {
	for range 20 {
		const n = 2000
		tm := NewTimers(Config{Shards: 2, Tick: minTick})
		var ran, drained atomic.Int64
		for i := range n {
			tm.AfterFunc(time.Duration(i%20)*minTick, func() { ran.Add(1) })
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for range tm.Drain() {
					drained.Add(1)
				}
			})
		}
		wg.Wait()
		noError(t, tm.Shutdown(t.Context()))
		if ran.Load()+drained.Load() != n {
			t.Errorf("%d ran, %d drained, of %d", ran.Load(), drained.Load(), n)
		}
	}
}

// A time that is being sent when Close is called is sent before Close returns.
func TestCloseWaitsForATimeBeingSent(t *testing.T) {
	tm := NewTimers(Config{Shards: 1})
	timer := tm.NewTimer(time.Hour)
	timer.mu.Lock() // so that the driver waits to send
	tm.use().Reset(timer.id, 0)
	for tm.Stats().Fired == 0 {
		runtime.Gosched()
	}
	var closed atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() { tm.Close(); closed.Store(true) })
	for range 1000 {
		runtime.Gosched()
	}
	if closed.Load() {
		t.Error("Close did not wait")
	}
	timer.mu.Unlock()
	if wg.Wait(); len(timer.C) != 1 {
		t.Error("the time of the expired timer was not sent")
	}
}

// The driver itself serves channels, sleepers and contexts, even if Run is
// overloaded.
func TestAnOverloadedRunnerDelaysNoReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tm := NewTimers(Config{Shards: 1, Run: runnerOf(func(func()) { panic("overloaded") }), OnPanic: func(any, []byte) {}})
		start := time.Now()
		tm.AfterFunc(time.Second, func() { t.Error("called") })
		ctx, cancel := tm.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ticker := tm.NewTicker(time.Second)
		c := tm.After(time.Second)
		noError(t, tm.Sleep(t.Context(), time.Second))
		<-c
		<-ticker.C
		<-ctx.Done()
		if time.Since(start) != time.Second {
			t.Errorf("took %v", time.Since(start))
		}
		ticker.Stop()
	})
}

func TestAFullTimersMakesStoppedTimers(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		cfg.MaxPending = 2
		tm := NewTimers(cfg)
		fail := func() { t.Error("called, but there was no room") }
		calls := 0
		first := tm.AfterFunc(time.Hour, func() { calls++ })
		second := tm.NewTimer(time.Second)
		refused := tm.AfterFunc(0, fail)
		if refused.Stop() || refused.Reset(0) || refused.Stop() {
			t.Error("a timer without room is pending")
		}
		if c := tm.NewTimer(0); c.Stop() || len(tm.After(0)) != 0 {
			t.Error("a channel timer without room is pending")
		}
		if !first.Reset(2*time.Second) || tm.Len() != 2 {
			t.Error("a pending timer needs no room to be moved")
		}
		<-second.C // releases its room
		third := tm.NewTimer(time.Hour)
		if second.Reset(0) || second.Stop() {
			t.Error("a timer that had fired found room")
		}
		if !third.Stop() {
			t.Error("Stop of a pending timer")
		}
		second.Reset(0)
		<-second.C
		time.Sleep(time.Minute)
		synctest.Wait()
		if calls != 1 || tm.use().rooms.n.Load() != 0 {
			t.Errorf("%d calls, %d rooms taken", calls, tm.use().rooms.n.Load())
		}
	})
}

// Other timers compete for the room of a periodic timer whenever it fires.
func TestAPeriodicTimerKeepsItsRoomUntilItEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		cfg.MaxPending = 2
		tm := NewTimers(cfg)
		fail := func() { t.Error("called, but there was no room") }
		r := newRecorder()
		ticker := tm.NewTicker(time.Second)
		series := tm.Every(time.Second, func() {
			if r.fire(0); tm.AfterFunc(0, fail).Stop() {
				t.Error("a timer found room")
			}
		}, EveryOptions{})
		for range 10 {
			<-ticker.C
			tm.AfterFunc(0, fail)
		}
		ticker.Reset(time.Minute)
		refused, none := tm.NewTicker(time.Second), tm.Every(time.Second, fail, EveryOptions{})
		if <-ticker.C; len(refused.C) != 0 || none.Stop() || none.Reset(1) || none.Stop() {
			t.Error("a periodic timer without room is pending")
		}
		time.Sleep(time.Second / 2) // the series does not run now
		ticker.Stop()
		refused.Reset(time.Second)
		<-refused.C
		refused.Stop()
		series.Stop()
		if n := len(r.values()); n < 70 || tm.use().rooms.n.Load() != 0 {
			t.Errorf("%d runs, %d rooms taken", n, tm.use().rooms.n.Load())
		}
	})
}

func TestMaxPendingIsExactForTimers(t *testing.T) {
	const limit = 10
	tm := NewTimers(Config{MaxPending: limit, Shards: 4})
	defer tm.Close()
	var wg sync.WaitGroup
	var over atomic.Int32
	for range 32 {
		wg.Go(func() {
			for i := range raceOperations() / 10 / 32 {
				timer := tm.AfterFunc(time.Duration(i%3)*time.Hour, func() {})
				ticker := tm.NewTicker(time.Microsecond)
				ctx, cancel := tm.WithTimeout(context.Background(), time.Hour)
				if tm.use().rooms.n.Load() > limit || tm.Len() > limit {
					over.Add(1)
				}
				if ctx.Err() != nil && !errors.Is(context.Cause(ctx), ErrFull) {
					over.Add(1)
				}
				timer.Reset(time.Hour)
				cancel()
				ticker.Stop()
				timer.Stop()
			}
		})
	}
	wg.Wait()
	if n := tm.use().rooms.n.Load(); over.Load() != 0 || n != 0 {
		t.Errorf("over the limit %d times, %d rooms taken at the end", over.Load(), n)
	}
}

func TestPendingTimersAndContextsNeedNoGoroutine(t *testing.T) {
	var tm Timers
	defer tm.Close()
	parent, cancelParent := context.WithCancel(context.WithValue(context.Background(), ctxKey{}, 1))
	defer cancelParent()
	before := runtime.NumGoroutine()
	for range 100 {
		tm.AfterFunc(time.Hour, func() {})
		tm.NewTimer(time.Hour)
		tm.NewTicker(time.Hour)
		tm.Every(time.Hour, func() {}, EveryOptions{})
		ctx, cancel := tm.WithTimeout(parent, time.Hour)
		defer cancel()
		_, cancel = context.WithCancel(context.WithValue(ctx, ctxKey{}, 2))
		defer cancel()
		_, cancel = tm.WithTimeout(context.WithValue(ctx, ctxKey{}, 2), time.Minute)
		defer cancel()
		context.AfterFunc(ctx, func() {})
	}
	if n := runtime.NumGoroutine() - before; n > 0 { // negative if goroutines of other tests have ended
		t.Errorf("%d goroutines for 800 timers and contexts", n)
	}
}

func TestTimersAllocateOnce(t *testing.T) {
	var tm Timers
	defer tm.Close()
	f := func() {}
	standing := tm.AfterFunc(time.Hour, f)
	channel := tm.NewTimer(time.Hour)
	ticker := tm.NewTicker(time.Hour)
	series := tm.Every(time.Hour, f, EveryOptions{})
	checkAllocs(t, 1, map[string]func(){
		"AfterFunc": func() { tm.AfterFunc(time.Hour, f).Stop() },
		"Every":     func() { tm.Every(time.Hour, f, EveryOptions{}).Stop() },
	})
	checkAllocs(t, 0, map[string]func(){
		"Stop, Reset":       func() { standing.Stop(); standing.Reset(time.Minute) },
		"Reset":             func() { standing.Reset(time.Hour); standing.Reset(time.Minute) },
		"Reset of NewTimer": func() { channel.Stop(); channel.Reset(time.Hour); channel.Reset(time.Minute) },
		"Reset of a Ticker": func() { ticker.Reset(time.Minute) },
		"Reset of a series": func() { series.Reset(time.Minute) },
	})
}
