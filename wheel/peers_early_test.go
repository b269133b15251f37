package wheel

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Every other wheel for Go that was measured fires early. It rounds a delay
// down to ticks, counts from the beginning of the current tick, or counts from
// a clock that is behind. Some also fail for small or negative numbers.

// antlabs/timer: a negative delay became a huge unsigned one, and was due in
// 497 days.
func TestANegativeDelayIsDueAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		r := newRecorder()
		w := New(cfg, r.fire)
		time.Sleep(time.Second + 123)
		begun := time.Since(r.start)
		for v, d := range []time.Duration{-1, -time.Millisecond, -time.Hour, -1 << 62, -1 << 63} {
			w.Add(d, v)
			w.AddSlack(d, time.Hour, v)
			w.Reset(w.Add(time.Hour, v), d)
			kept := w.Add(time.Hour, 100)
			if w.Extend(kept, d); w.Len() == 0 {
				t.Error("Extend by a negative delay made a timer due")
			}
		}
		synctest.Wait()
		got := r.firings()
		if len(got) != 15 || w.Len() != 5 {
			t.Errorf("%d fired, %d pending", len(got), w.Len())
		}
		for _, f := range got {
			if f.at != begun || f.v == 100 {
				t.Errorf("fired %v, want at %v", f, begun)
			}
		}
		w.Close()
	})
}

// antlabs/timer and thinkgos/timer: deadlines were added to a clock that was
// behind when the driver was late. 25 to 90 of 100 timers fired early, by up to
// 27 ms.
func TestNeverEarlyWhileTheDriverIsLate(t *testing.T) {
	var busy sync.WaitGroup
	var over atomic.Bool
	for range 2 * runtime.GOMAXPROCS(0) {
		busy.Go(func() {
			for !over.Load() { // keeps the processors busy, so that the driver is late
			}
		})
	}
	const n = 3000
	var early, fired atomic.Int64
	var due [n]time.Duration
	start := time.Now()
	w := New(Config{Shards: 1, Tick: 10 * time.Millisecond, Run: Inline}, func(v int) {
		if time.Since(start) < due[v] {
			early.Add(1)
		}
		fired.Add(1)
		for begun := time.Now(); v%10 == 0 && time.Since(begun) < 100*time.Microsecond; {
		}
	})
	for v := range n {
		d := time.Duration(v%100) * time.Millisecond
		due[v] = time.Since(start) + d
		w.Add(d, v)
	}
	waitQuiet(t, w)
	over.Store(true)
	busy.Wait()
	if w.Close(); early.Load() != 0 || fired.Load() != n {
		t.Errorf("%d of %d fired, %d of them early", fired.Load(), n, early.Load())
	}
}

// RussellLuo/timingwheel rounded deadlines down to milliseconds, ouqiang and
// godis to seconds: a timer of 1.99 s fired after 1.1 s.
func TestADelayIsNeverRoundedDownToTicks(t *testing.T) {
	for _, tick := range []time.Duration{minTick, time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second} {
		for _, phase := range []time.Duration{0, tick / 3, tick - 1} {
			synctest.Test(t, func(t *testing.T) {
				r := newRecorder()
				w := New(Config{Shards: 1, Tick: tick, Run: Inline}, r.fire)
				w.Remove(w.Add(tick, 0))
				time.Sleep(phase)
				for v := range 100 {
					w.Add(tick+tick*time.Duration(v)/100, v)
				}
				time.Sleep(3 * tick)
				for _, f := range r.firings() {
					if d := tick + tick*time.Duration(f.v)/100; f.at-phase < d {
						t.Errorf("tick %v: a timer of %v fired after %v", tick, d, f.at-phase)
					}
				}
				if n := len(r.firings()); n != 100 {
					t.Errorf("%d fired", n)
				}
			})
		}
	}
}

// go-zero, rfyiamcool, xiaoxuxiansheng, gf: the current tick was counted as a
// whole tick, so a timer of 100 ms fired after 1 ms.
func TestTheCurrentTickDoesNotCountAsAWholeTick(t *testing.T) {
	const tick = 100 * time.Millisecond
	for _, phase := range []time.Duration{0, 1, tick / 2, 98 * time.Millisecond, tick - 1} {
		synctest.Test(t, func(t *testing.T) {
			r := newRecorder()
			w := New(Config{Shards: 1, Tick: tick, Run: Inline}, r.fire)
			w.Remove(w.Add(tick, 0))
			time.Sleep(7*tick + phase)
			w.Add(tick, 1)
			w.Reset(w.Add(time.Hour, 2), 2*tick)
			w.Extend(w.Add(tick, 3), 3*tick)
			time.Sleep(time.Minute)
			for _, f := range r.firings() {
				if waited := f.at - 7*tick - phase; waited < time.Duration(f.v)*tick || waited >= time.Duration(f.v+1)*tick {
					t.Errorf("%v into a tick: a timer of %d ticks fired after %v", phase, f.v, waited)
				}
			}
			if n := len(r.firings()); n != 3 {
				t.Errorf("%d fired", n)
			}
		})
	}
}

// ouqiang/timewheel and godis divided by the seconds of the interval: below one
// second the process crashed.
func TestATickMayBeMuchShorterThanASecond(t *testing.T) {
	const second = time.Second
	for _, tick := range []time.Duration{minTick, 100_001, 999_999, time.Millisecond, second - time.Millisecond, second - 1, second + 1} {
		synctest.Test(t, func(t *testing.T) {
			r := newRecorder()
			w := New(Config{Shards: 1, Tick: tick, Run: Inline}, r.fire)
			w.Add(1, 1)
			w.Add(990*time.Millisecond, 2)
			time.Sleep(4 * time.Second)
			got := r.firings()
			if len(got) != 2 || got[0].at > tick || got[1].at < 990*time.Millisecond || got[1].at >= 990*time.Millisecond+tick {
				t.Errorf("tick %v: fired %v", tick, got)
			}
		})
	}
}
