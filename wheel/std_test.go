package wheel

import (
	"testing"
	"testing/synctest"
	"time"
)

// Timers replaces package time, so these tests state what package time's own
// tests of Stop, Reset and C state. There are two exceptions, which the
// documentation of NewTimer and NewTicker states:
//
// C has a buffer of one: len and cap show it. A time that was sent is still not
// received after Stop or Reset, because these remove it.
//
// A pending timer or ticker without a reference is kept until it fires, or
// forever, because only the runtime can detect that no goroutine can receive
// from a channel any more.

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

func isReady(c <-chan time.Time) bool {
	synctest.Wait()
	select {
	case <-c:
		return true
	default:
		return false
	}
}
