package wheel

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Timers replaces package time, so its timers and tickers must behave as those
// of package time do. There are two exceptions, which the documentation of
// NewTimer and NewTicker states:
//
// C has a buffer of one: len and cap show it. A time that was sent is still not
// received after Stop or Reset, because these remove it.
//
// A pending timer or ticker without a reference is kept until it fires, or
// forever, because only the runtime can detect that no goroutine can receive
// from a channel any more.

// stdTimer is the common interface of both packages. A ticker has no results.
type stdTimer interface {
	Stop() bool
	Reset(d time.Duration) bool
}

type stdTicker struct {
	ticker interface {
		Stop()
		Reset(d time.Duration)
	}
}

func (s stdTicker) Stop() bool                 { s.ticker.Stop(); return false }
func (s stdTicker) Reset(d time.Duration) bool { s.ticker.Reset(d); return false }

// twin is a timer, and when its function was called or its time received.
type twin struct {
	stdTimer
	*recorder // of no values
	c         <-chan time.Time
}

func (w *twin) note(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, firing{0, at.Sub(w.start)})
}

// twins returns a timer of each package.
func twins(kind int, tm *Timers, d time.Duration) (ours, theirs *twin) {
	ours, theirs = &twin{recorder: newRecorder()}, &twin{recorder: newRecorder()}
	switch kind {
	case 0:
		ours.stdTimer = tm.AfterFunc(d, func() { ours.note(time.Now()) })
		theirs.stdTimer = time.AfterFunc(d, func() { theirs.note(time.Now()) })
	case 1:
		a, b := tm.NewTimer(d), time.NewTimer(d)
		ours.stdTimer, ours.c, theirs.stdTimer, theirs.c = a, a.C, b, b.C
	case 2:
		a, b := tm.NewTicker(d), time.NewTicker(d)
		ours.stdTimer, ours.c, theirs.stdTimer, theirs.c = stdTicker{a}, a.C, stdTicker{b}, b.C
	}
	return ours, theirs
}

// receive receives from the channel until stop is closed.
func (w *twin) receive(stop chan struct{}) {
	for {
		select {
		case at := <-w.c:
			w.note(at)
		case <-stop:
			return
		}
	}
}

func (w *twin) poll() {
	select {
	case at := <-w.c:
		w.note(at)
	default:
	}
}

// Random operations on a timer of each package have the same results, and the
// same times are received, or the functions are called at the same times.
// Operations and deadlines never coincide.
func TestTimersAndTickersBehaveAsThoseOfPackageTime(t *testing.T) {
	for seed := range uint64(150) {
		for _, cfg := range []Config{{Shards: 1, Run: Inline}, {Shards: 2}} {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(6, seed))
				some := func() time.Duration { return time.Duration(r.IntN(5))*100*time.Millisecond + 23*time.Millisecond }
				tm := NewTimers(cfg)
				ours, theirs := twins(int(seed%3), tm, some())
				for range 40 {
					switch r.IntN(6) {
					case 0:
						if a, b := ours.Stop(), theirs.Stop(); a != b {
							t.Errorf("Stop = %v, want %v", a, b)
						}
					case 1, 2:
						d := some()
						if r.IntN(8) == 0 {
							d = 10000 * time.Second
						}
						if a, b := ours.Reset(d), theirs.Reset(d); a != b {
							t.Errorf("Reset(%v) = %v, want %v", d, a, b)
						}
					case 3:
						ours.poll()
						theirs.poll()
					case 4: // goroutines wait while it is moved
						stop := make(chan struct{})
						go ours.receive(stop)
						go theirs.receive(stop)
						synctest.Wait()
						time.Sleep(time.Duration(r.IntN(3)) * 100 * time.Millisecond)
						d := some()
						ours.Reset(d)
						theirs.Reset(d)
						time.Sleep(time.Duration(r.IntN(6)) * 100 * time.Millisecond)
						synctest.Wait()
						close(stop)
					}
					time.Sleep(time.Duration(r.IntN(4)) * 100 * time.Millisecond)
					synctest.Wait()
					if a, b := ours.firings(), theirs.firings(); !slices.Equal(a, b) {
						t.Fatalf("seed %d: times %v, want %v", seed, a, b)
					}
				}
				ours.Stop()
				theirs.Stop()
				if n := tm.Len(); n != 0 {
					t.Errorf("%d pending", n)
				}
			})
		}
	}
}
