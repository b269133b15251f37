package wheel

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Package time's own tests of timers (sleep_test.go of Go 1.26), and the tests for them here. Those of
// its tickers and channels are in std_tick_test.go.
//
//	TestSleep                      TestStdSleepIsNotShort
//	TestAfterFunc                  TestStdAFunctionSetsTheNext
//	TestTickerStress               TestStdTickerTicksDuringCollections
//	TestTickerConcurrentStress     TestStdTickerTicksDuringCollections
//	TestAfterFuncStarvation        TestStdBusyGoroutinesStarveNoFunction
//	TestAfter                      TestStdAfterIsNotShort
//	TestAfterTick                  TestStdAfterAgainAndAgain
//	TestAfterStop                  TestStdStopBeforeTheDeadline
//	TestAfterQueuing               TestStdTimersFireInTheOrderOfTheirDeadlines
//	TestTimerStopStress            TestStdStopOfManyTimers
//	TestSleepZeroDeadlock          TestStdSleepOfNothingDuringCollections
//	TestReset                      TestStdReset
//	TestOverflowSleep              TestStdOverflowingDelays
//	TestIssue5745                  TestStdAPanicInStopLeavesNoLockBehind
//	TestOverflowPeriodRuntimeTimer TestStdAnOverflowingPeriodTicksOnce
//	TestZeroTimerResetPanics       TestStdAnUninitializedTimerPanics
//	TestZeroTimerStopPanics        TestStdAnUninitializedTimerPanics
//	TestZeroTimer                  TestStdDelaysOfZeroAreNotMissed
//	TestTimerModifiedEarlier       TestStdATimerMovedEarlierIsNotLost
//	TestAdjustTimers               TestStdTimersMovedToAndFroAreNotLost
//	TestStopResult                 TestStdResultsSayWhetherThereIsATimeToReceive
//	TestResetResult                TestStdResultsSayWhetherThereIsATimeToReceive
//	TestMultiWakeupTicker          TestStdManyReceiversOfOneTicker
//	TestMultiWakeupTimer           TestStdManyReceiversResetOneTimer

// stdKinds are NewTimer, and the same made by AfterFunc.
var stdKinds = map[string]func(tm *Timers, d time.Duration) *Timer{
	"chan": (*Timers).NewTimer,
	"func": func(tm *Timers, d time.Duration) *Timer {
		c := make(chan time.Time, 1)
		timer := tm.AfterFunc(d, func() { c <- time.Now() })
		timer.C = c
		return timer
	},
}

// ofBothKinds runs a test with fake time for channel timers and for function
// timers.
func ofBothKinds(t *testing.T, f func(t *testing.T, tm *Timers, newTimer func(time.Duration) *Timer)) {
	for name, kind := range stdKinds {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, cfg Config) {
				tm := NewTimers(cfg)
				defer tm.Close()
				f(t, tm, func(d time.Duration) *Timer { return kind(tm, d) })
			})
		})
	}
}

func isReady(c <-chan time.Time) bool {
	synctest.Wait()
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestStdSleepIsNotShort(t *testing.T) {
	var tm Timers
	const d = 20 * time.Millisecond
	start := time.Now()
	if err := tm.Sleep(t.Context(), d); err != nil || time.Since(start) < d {
		t.Errorf("Sleep(%v) = %v after %v", d, err, time.Since(start))
	}
}

func TestStdAFunctionSetsTheNext(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		cfg.Run = Go // a function that blocks must not delay the next
		tm := NewTimers(cfg)
		start := time.Now()
		done := make(chan bool)
		left := 10
		var f func()
		f = func() {
			if left--; left < 0 {
				close(done)
				return
			}
			tm.AfterFunc(0, f)
			time.Sleep(time.Second)
		}
		tm.AfterFunc(0, f)
		if <-done; time.Since(start) != 0 {
			t.Errorf("took %v", time.Since(start))
		}
		time.Sleep(2 * time.Second)
	})
}

func TestStdBusyGoroutinesStarveNoFunction(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var tm Timers
	var stop atomic.Bool
	c := make(chan bool, 1)
	tm.AfterFunc(time.Microsecond, func() { stop.Store(true) })
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			c <- true
		}
		close(c)
	})
	wg.Go(func() {
		for range c {
		}
	})
	wg.Wait()
}

func TestStdAfterIsNotShort(t *testing.T) {
	var tm Timers
	const d = 20 * time.Millisecond
	start := time.Now()
	at := <-tm.After(d)
	if time.Since(start) < d || at.Before(start.Add(d)) {
		t.Errorf("After(%v) took %v and sent the time after %v", d, time.Since(start), at.Sub(start))
	}
}

func TestStdAfterAgainAndAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm := NewTimers(cfg)
		start := time.Now()
		const n, d = 10, 100 * time.Millisecond
		for range n {
			<-tm.After(d)
		}
		if took := time.Since(start); took < n*d || took > n*(d+tickOf(cfg)) {
			t.Errorf("%d times %v took %v", n, d, took)
		}
	})
}

func TestStdStopBeforeTheDeadline(t *testing.T) {
	ofBothKinds(t, func(t *testing.T, tm *Timers, newTimer func(time.Duration) *Timer) {
		tm.AfterFunc(100*time.Millisecond, func() {})
		first := newTimer(50 * time.Millisecond)
		second := newTimer(150 * time.Millisecond)
		last := tm.After(200 * time.Millisecond)
		if !first.Stop() || !second.Stop() {
			t.Error("Stop before the deadline reports false")
		}
		<-last
		if isReady(first.C) || isReady(second.C) {
			t.Error("a timer that was stopped fired")
		}
		if second.Stop() {
			t.Error("a second Stop reports true")
		}
	})
}

func TestStdTimersFireInTheOrderOfTheirDeadlines(t *testing.T) {
	ofBothKinds(t, func(t *testing.T, _ *Timers, newTimer func(time.Duration) *Timer) {
		units := []int{5, 3, 6, 6, 6, 1, 1, 2, 7, 9, 4, 8, 0}
		start := time.Now()
		fired := make(chan int, len(units))
		for _, u := range units {
			timer := newTimer(time.Duration(u) * 20 * time.Millisecond)
			go func() {
				if at := <-timer.C; at.Sub(start) < time.Duration(u)*20*time.Millisecond {
					t.Errorf("fired early: %v", at.Sub(start))
				}
				fired <- u
			}()
		}
		var order []int
		for range units {
			order = append(order, <-fired)
		}
		if !slices.IsSorted(order) {
			t.Errorf("fired in the order %v", order)
		}
	})
}

func TestStdStopOfManyTimers(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm := NewTimers(cfg)
		for range 100 {
			go func() {
				timer := tm.AfterFunc(2*time.Second, func() { t.Error("was not stopped") })
				time.Sleep(time.Second)
				timer.Stop()
			}()
		}
		time.Sleep(3 * time.Second)
	})
}

func TestStdSleepOfNothingDuringCollections(t *testing.T) {
	var tm Timers
	collected := make(chan bool)
	go func() {
		for range 20 {
			runtime.GC()
		}
		close(collected)
	}()
	for range 100 {
		if err := tm.Sleep(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		c := make(chan bool, 1)
		c <- true
		<-c
	}
	<-collected
}

func TestStdReset(t *testing.T) {
	ofBothKinds(t, func(t *testing.T, _ *Timers, newTimer func(time.Duration) *Timer) {
		const d = 100 * time.Millisecond
		timer := newTimer(2 * d)
		time.Sleep(d)
		if !timer.Reset(3 * d) {
			t.Error("Reset of a pending timer reports false")
		}
		time.Sleep(2 * d)
		if isReady(timer.C) {
			t.Error("fired at its old deadline")
		}
		time.Sleep(2 * d)
		if !isReady(timer.C) {
			t.Error("did not fire at its new deadline")
		}
		if timer.Reset(d) {
			t.Error("Reset of a timer that had fired reports true")
		}
	})
}

func TestStdOverflowingDelays(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm := NewTimers(cfg)
		defer tm.Close()
		woke := make(chan error, 1)
		go func() { woke <- tm.Sleep(t.Context(), math.MaxInt64) }()
		select {
		case <-tm.After(math.MaxInt64):
			t.Error("the largest delay is over")
		case err := <-woke:
			t.Errorf("the longest sleep is over: %v", err)
		case <-tm.After(25 * time.Millisecond):
		}
		start := time.Now()
		_ = tm.Sleep(t.Context(), math.MinInt64)
		if <-tm.After(math.MinInt64); time.Since(start) != 0 {
			t.Error("a negative delay takes time")
		}
	})
}

func TestStdAPanicInStopLeavesNoLockBehind(t *testing.T) {
	var tm Timers
	ticker := tm.NewTicker(time.Hour)
	defer func() {
		ticker.Stop()
		if recover() == nil {
			t.Error("Stop of a nil Timer does not panic")
		}
	}()
	var timer *Timer
	timer.Stop()
}

func TestStdAnOverflowingPeriodTicksOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm := NewTimers(cfg)
		ticker := tm.NewTicker(time.Millisecond)
		<-ticker.C
		ticker.Reset(math.MaxInt64)
		if time.Sleep(time.Hour); isReady(ticker.C) {
			t.Error("the longest period is over")
		}
		ticker.Stop()
	})
}

func TestStdAnUninitializedTimerPanics(t *testing.T) {
	for name, use := range map[string]func(*Timer){
		"Stop":     func(timer *Timer) { timer.Stop() },
		"Reset":    func(timer *Timer) { timer.Reset(1) },
		"Kill":     func(timer *Timer) { timer.Kill() },
		"StopWait": func(timer *Timer) { _ = timer.StopWait(t.Context()) },
	} {
		func() {
			defer func() {
				if s, _ := recover().(string); !strings.Contains(s, name+" called on uninitialized Timer") {
					t.Errorf("%s panics with %q", name, s)
				}
			}()
			use(new(Timer))
		}()
	}
}

func TestStdDelaysOfZeroAreNotMissed(t *testing.T) {
	n := 100_000
	if testing.Short() || raceEnabled {
		n = 5000
	}
	var tm Timers
	standing := stdKinds["func"](&tm, time.Hour)
	for name, newTimer := range map[string]func() *Timer{
		"chan":  func() *Timer { return tm.NewTimer(0) },
		"func":  func() *Timer { return stdKinds["func"](&tm, 0) },
		"again": func() *Timer { standing.Reset(0); return standing },
	} {
		for range n {
			start := time.Now()
			if <-newTimer().C; time.Since(start) > time.Minute {
				t.Errorf("%s took %v", name, time.Since(start))
			}
		}
	}
}

func TestStdATimerMovedEarlierIsNotLost(t *testing.T) {
	var tm Timers
	past := time.Until(time.Unix(0, 0))
	for range 1000 {
		timer := stdKinds["func"](&tm, time.Hour)
		for range 10 {
			if !timer.Stop() {
				<-timer.C
			}
			timer.Reset(past)
		}
		deadline := time.NewTimer(time.Minute)
		select {
		case <-timer.C:
		case <-deadline.C:
			t.Fatal("it does not fire")
		}
		deadline.Stop()
	}
}

// Each timer goes through the same steps, with the timers in a random order.
func TestStdTimersMovedToAndFroAreNotLost(t *testing.T) {
	var tm Timers
	r := rand.New(rand.NewPCG(6, 1))
	type trial struct {
		timer *Timer
		steps int
	}
	trials := make([]*trial, 100)
	for i := range trials {
		trials[i] = new(trial)
	}
	rearm := func(c *trial, d time.Duration) {
		if c.timer.Reset(d) {
			t.Error("Reset of a timer that is not pending reports true")
		}
	}
	stop := func(c *trial) {
		if !c.timer.Stop() {
			t.Error("Stop of a timer that is far off reports false")
		}
	}
	steps := []func(c *trial){
		func(c *trial) { c.timer = stdKinds["func"](&tm, 0) },
		func(c *trial) { <-c.timer.C },
		func(c *trial) { rearm(c, time.Minute) }, stop,
		func(c *trial) { rearm(c, 3*time.Minute) }, stop,
		func(c *trial) { rearm(c, 2*time.Minute) }, stop,
		func(c *trial) { rearm(c, 0) },
		func(c *trial) {
			start := time.Now()
			if <-c.timer.C; time.Since(start) > time.Minute {
				t.Errorf("took %v", time.Since(start))
			}
		},
	}
	for len(trials) > 0 {
		i := r.IntN(len(trials))
		c := trials[i]
		steps[c.steps](c)
		if c.steps++; c.steps == len(steps) {
			trials = slices.Delete(trials, i, i+1)
		}
	}
}

// Two timers have the same deadline. When the test receives from one, it stops
// or resets the other: if that reports false, there must be a time to receive.
func TestStdResultsSayWhetherThereIsATimeToReceive(t *testing.T) {
	for name, end := range map[string]func(*Timer) bool{
		"Stop":  (*Timer).Stop,
		"Reset": func(timer *Timer) bool { return timer.Reset(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			var tm Timers
			defer tm.Close()
			n := 300
			if testing.Short() {
				n = 100
			}
			var wg sync.WaitGroup
			for range n {
				wg.Go(func() {
					for range 20 {
						a, b := tm.NewTimer(time.Millisecond), tm.NewTimer(time.Millisecond)
						select {
						case <-a.C:
						case <-b.C:
							a, b = b, a
						}
						if !end(b) {
							<-b.C // or the test hangs
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestStdManyReceiversOfOneTicker(t *testing.T) {
	n := 2000
	if testing.Short() {
		n = 200
	}
	var tm Timers
	ticker := tm.NewTicker(time.Microsecond)
	defer ticker.Stop()
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for range n {
				select {
				case <-ticker.C:
				case <-tm.After(time.Millisecond):
				}
			}
		})
	}
	wg.Wait()
}

func TestStdManyReceiversResetOneTimer(t *testing.T) {
	var tm Timers
	timer := tm.NewTimer(time.Nanosecond)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for range 10_000 {
				select {
				case <-timer.C:
				default:
				}
				timer.Reset(time.Nanosecond)
			}
		})
	}
	wg.Wait()
	<-timer.C
}
