package wheel

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Package time's own tests of tickers and channels (tick_test.go of Go 1.26), and the tests for them here.
//
//	TestTicker                            TestStdTicker
//	TestTickerStopWithDirectInitialization, TestManualTicker
//	                                      TestStdAZeroTickerMayBeStopped
//	TestTeardown                          TestStdTickersComeAndGo
//	TestTick                              there is no Tick: NewTicker(d).C, which panics if d ≤ 0
//	TestNewTickerLtZeroDuration, TestTickerResetLtZeroDuration
//	                                      TestStdPeriodsMustBePositive
//	TestLongAdjustTimers                  TestStdManySleepersDelayNoReceiver
//	TestChan                              TestStdNothingStaleIsReceived
//	TestAfterTimes, TestTickTimes         TestStdTheTimeSentIsThatOfSending
//	TestTimerGC                           the second exception
//
// The two exceptions, both stated in the documentation of NewTimer and NewTicker:
//
//	C has a buffer of one: len and cap show it; those of package time's channels are always 0. A time that was sent
//	is still not received after Stop or Reset, because these remove it.
//
//	A pending timer or ticker without a reference is kept until it fires, or forever: only the runtime
//	can detect that no goroutine can receive from a channel any more. A stopped one is collected
//	(TestDataOfAStoppedTimerIsCollected).

func TestStdTicker(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm := NewTimers(cfg)
		const n, d = 10, 20 * time.Millisecond
		start := time.Now()
		ticker := tm.NewTicker(d)
		for range n / 2 {
			<-ticker.C
		}
		ticker.Reset(2 * d)
		for range n / 2 {
			<-ticker.C
		}
		ticker.Stop()
		if took, want := time.Since(start), 3*d*n/2; took < want || took > want+2*tickOf(cfg) {
			t.Errorf("%d ticks took %v, want %v", n, took, want)
		}
		if time.Sleep(4 * d); isReady(ticker.C) {
			t.Error("a tick after Stop")
		}
	})
}

func TestStdAZeroTickerMayBeStopped(t *testing.T) {
	ticker := &Ticker{C: make(chan time.Time)}
	ticker.Stop()
	defer func() {
		if recover() == nil {
			t.Error("Reset of an uninitialized Ticker does not panic")
		}
	}()
	ticker.Reset(1)
}

func TestStdTickersComeAndGo(t *testing.T) {
	var tm Timers
	for range 3 {
		ticker := tm.NewTicker(5 * time.Millisecond)
		<-ticker.C
		ticker.Stop()
	}
}

func TestStdPeriodsMustBePositive(t *testing.T) {
	var tm Timers
	ticker := tm.NewTicker(time.Second)
	defer ticker.Stop()
	for name, wrong := range map[string]func(){
		"NewTicker(-1)": func() { tm.NewTicker(-1) },
		"NewTicker(0)":  func() { tm.NewTicker(0) },
		"Reset(0)":      func() { ticker.Reset(0) },
		"Reset(-1)":     func() { ticker.Reset(-1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s does not panic", name)
				}
			}()
			wrong()
		}()
	}
}

// collect collects garbage until stop is set, so that timers fire at bad
// moments.
func collect(wg *sync.WaitGroup, stop *atomic.Bool) {
	wg.Go(func() {
		for !stop.Load() {
			runtime.GC()
			runtime.Gosched()
		}
	})
}

func TestStdTickerTicksDuringCollections(t *testing.T) {
	var tm Timers
	var stop atomic.Bool
	var collector, receivers sync.WaitGroup
	collect(&collector, &stop)
	ticker := tm.NewTicker(1)
	for range 10 {
		receivers.Go(func() {
			for range 10 {
				<-ticker.C
			}
		})
	}
	receivers.Wait()
	ticker.Stop()
	stop.Store(true)
	collector.Wait()
}

func TestStdManySleepersDelayNoReceiver(t *testing.T) {
	var tm Timers
	var sleepers sync.WaitGroup
	for range 5000 {
		sleepers.Go(func() { _ = tm.Sleep(t.Context(), 10*time.Microsecond) })
	}
	n := 2000
	if testing.Short() {
		n = 200
	}
	in, out := make(chan int), make(chan int, 20)
	go func() { // work that ping-pongs through the scheduler
		for v := range in {
			out <- v
		}
		close(out)
	}()
	for i := range n {
		for range 20 {
			in <- i
		}
		for range 20 {
			patience := tm.NewTimer(5 * time.Second)
			select {
			case <-out:
			case <-patience.C:
				t.Fatal("work does not come through")
			}
			patience.Stop()
		}
	}
	close(in)
	sleepers.Wait()
}

// stdTimer is the common interface of timers and tickers, with the results of
// timers.
type stdTimer interface {
	Stop() bool
	Reset(d time.Duration) bool
}

// stoppableTicker is a Ticker that reports whether it was pending.
type stoppableTicker struct {
	*Ticker
	stopped bool
}

func (s *stoppableTicker) Stop() (was bool) {
	was, s.stopped = !s.stopped, true
	s.Ticker.Stop()
	return was
}

func (s *stoppableTicker) Reset(d time.Duration) (was bool) {
	was, s.stopped = !s.stopped, false
	s.Ticker.Reset(d)
	return was
}

// chanTrial checks the times that a channel delivers.
type chanTrial struct {
	*testing.T
	timer  stdTimer
	c      <-chan time.Time
	ticker bool
}

func (t chanTrial) none(when string) {
	t.Helper()
	if isReady(t.c) {
		t.Errorf("%s: a time is received", when)
	}
}

func (t chanTrial) one(when string) {
	t.Helper()
	time.Sleep(10 * time.Millisecond)
	if !isReady(t.c) {
		t.Errorf("%s: nothing is received", when)
	}
}

func TestStdNothingStaleIsReceived(t *testing.T) {
	const far = 10000 * time.Second
	for _, ticker := range []bool{false, true} {
		inBubble(t, func(t *testing.T, cfg Config) {
			tm := NewTimers(cfg)
			c := chanTrial{T: t, ticker: ticker}
			if ticker {
				k := tm.NewTicker(far)
				c.timer, c.c = &stoppableTicker{Ticker: k}, k.C
			} else {
				timer := tm.NewTimer(far)
				c.timer, c.c = timer, timer.C
			}
			c.stopAndReset(far)
			c.whileReceiving(far)
			c.results(far)
			c.timer.Stop()
			if n := tm.Len(); n != 0 {
				t.Errorf("%d pending", n)
			}
		})
	}
}

func (t chanTrial) stopAndReset(far time.Duration) {
	t.timer.Stop()
	t.none("stopped while pending")
	t.timer.Reset(far)
	t.none("reset after it was stopped")
	t.timer.Reset(1)
	t.one("moved to now")
	time.Sleep(20 * time.Millisecond) // a ticker has ticked again
	t.timer.Reset(far)
	t.none("moved far off")
	t.timer.Reset(1)
	time.Sleep(20 * time.Millisecond)
	t.timer.Stop()
	t.none("stopped after a time was sent")
	t.timer.Reset(1)
	t.one("reset after it was stopped with a time sent")
	t.timer.Reset(far)
}

// whileReceiving moves the timer while goroutines wait for it.
func (t chanTrial) whileReceiving(far time.Duration) {
	received := make(chan bool, 2)
	receive := func(stop chan bool) {
		select {
		case <-t.c:
			received <- true
		case <-stop:
		}
	}
	for _, move := range []time.Duration{1, 5 * time.Millisecond} {
		stop := make(chan bool)
		go receive(stop)
		go receive(stop)
		t.timer.Reset(2 * far)
		time.Sleep(10 * time.Millisecond)
		if len(received) != 0 {
			t.Error("received from a timer that is far off")
		}
		t.timer.Reset(move)
		time.Sleep(move + 10*time.Millisecond)
		t.timer.Stop()
		synctest.Wait()
		if n := len(received); n != 1 && !(t.ticker && n == 2) {
			t.Errorf("%d of two goroutines have received", n)
		}
		close(stop)
		for synctest.Wait(); len(received) > 0; {
			<-received
		}
		t.none("stopped after it was received")
	}
	stop := make(chan bool)
	go receive(stop)
	time.Sleep(far)
	close(stop)
	if synctest.Wait(); len(received) != 0 {
		t.Error("received from a timer that is stopped")
	}
}

func (t chanTrial) results(far time.Duration) {
	t.timer.Reset(1)
	time.Sleep(20 * time.Millisecond)
	if !t.timer.Stop() {
		t.Error("Stop reports false, with a time sent but not received")
	}
	t.none("stopped with a time sent")
	t.timer.Reset(far)
	t.none("far off")
	if !t.timer.Reset(1) {
		t.Error("Reset of a pending timer reports false")
	}
	t.one("moved to now")
	time.Sleep(20 * time.Millisecond)
	if t.ticker {
		t.one("the next tick")
	} else {
		t.none("after the only time")
	}
	if was := t.timer.Reset(far); was != t.ticker {
		t.Errorf("after the time was received, Reset reports %v", was)
	}
	t.none("far off again")
}

func TestStdTheTimeSentIsThatOfSending(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm := NewTimers(cfg)
		start := time.Now()
		c, ticker := tm.After(10*time.Millisecond), tm.NewTicker(10*time.Millisecond)
		time.Sleep(500 * time.Millisecond)
		for _, at := range []time.Time{<-c, <-ticker.C} {
			if after := at.Sub(start); after != 10*time.Millisecond {
				t.Errorf("received the time after %v, want 10ms", after)
			}
		}
		ticker.Stop()
	})
}
