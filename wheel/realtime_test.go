package wheel

import (
	"flag"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

var realTimers = flag.Int("real.timers", 0, "timers of the test in real time, for each tick; 0: 10^6, or 20,000 in the short form")

func realTimerCount() int { return howMany(*realTimers, 1_000_000, 0, 20_000) }

// realTime records timers on the machine's own clocks. A deadline counts from a
// reading of the clock before the call, and a firing is compared with a reading
// in the callback. So a timer that is early here was early.
type realTime struct {
	start  time.Time
	tick   time.Duration
	wheel  *Wheel[int]
	timers []realTimer
}

type realTimer struct {
	wall  bool          // selects the clock
	until time.Duration // since start
	slack time.Duration
	late  time.Duration // more than slack, or negative: early; written by its firing
	fired atomic.Int32
}

func newRealTime(n int, tick time.Duration) *realTime {
	r := &realTime{start: time.Now(), tick: tick, timers: make([]realTimer, n)}
	r.wheel = NewBatch(Config{Tick: tick}, func(batch []Expired[int]) {
		for _, e := range batch {
			m := &r.timers[e.Value]
			if m.late = r.now(m.wall) - m.until; m.late > 0 {
				m.late = max(0, m.late-m.slack)
			}
			m.fired.Add(1)
		}
	})
	return r
}

func (r *realTime) now(wall bool) time.Duration {
	if wall {
		return time.Now().Round(0).Sub(r.start.Round(0))
	}
	return time.Since(r.start)
}

// add sets timer v. A quarter of the timers have slack, a quarter use the wall
// clock, an eighth are moved once.
func (r *realTime) add(v int, d time.Duration) {
	m := &r.timers[v]
	switch v % 8 {
	case 0, 1:
		m.until, m.slack = r.now(false)+d, 4*r.tick
		must(r.wheel.AddAt(When{After: d, Slack: m.slack}, v))
	case 2, 3:
		m.wall, m.until = true, r.now(true)+d
		must(r.wheel.AddAt(When{At: r.start.Add(m.until)}, v))
	case 4:
		id := must(r.wheel.Add(time.Hour, v))
		m.until = r.now(false) + d
		r.wheel.Reset(id, d)
	default:
		m.until = r.now(false) + d
		must(r.wheel.Add(d, v))
	}
}

// judge waits until all timers have fired: each once, and none early.
func (r *realTime) judge(t *testing.T) {
	waitQuiet(t, r.wheel)
	fatal.If(t, r.wheel.Shutdown(t.Context()))
	wrong, n := 0, len(r.timers)
	late := make([]time.Duration, n)
	for v := range r.timers {
		m := &r.timers[v]
		if late[v] = m.late; m.late < 0 || m.fired.Load() != 1 {
			wrong++
			t.Errorf("timer %d fired %d times, %v late", v, m.fired.Load(), m.late)
		}
		if wrong == 10 {
			t.Fatal("and so on")
		}
	}
	slices.Sort(late)
	t.Logf("%d timers at ticks of %v: late by p50 %v, p99 %v, max %v", n, r.tick, late[n/2], late[n*99/100], late[n-1])
	checkCounters(t, r.wheel)
}

func TestNothingIsEarlyInRealTime(t *testing.T) {
	n := realTimerCount()
	span := max(300*time.Millisecond, time.Duration(n)*8*time.Microsecond)
	for _, tick := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond} {
		t.Run(tick.String(), func(t *testing.T) {
			r := newRealTime(n, tick)
			var wg sync.WaitGroup
			const adders = 4
			for a := range adders {
				wg.Go(func() {
					rnd := rand.New(rand.NewPCG(uint64(tick), uint64(a)))
					for v := a; v < n; v += adders {
						r.add(v, time.Duration(rnd.Int64N(int64(span))))
						if v%400 == a { // leaves the processors to the drivers for a moment
							time.Sleep(time.Millisecond)
						}
					}
				})
			}
			wg.Wait()
			r.judge(t)
		})
	}
}
