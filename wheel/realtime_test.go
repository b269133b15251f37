package wheel

import (
	"flag"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

var realTimers = flag.Int("real.timers", 0, "timers of the test in real time, for each tick; 0: 10^6, or 20,000 in the short form")

func realTimerCount() int {
	switch {
	case *realTimers > 0:
		return *realTimers
	case testing.Short():
		return 20_000
	}
	return 1_000_000
}

// realTime records timers on the machine's own clocks. A deadline counts from a
// reading of the clock before the call, and a firing is compared with a reading
// in the callback. So a timer that is early here was early.
type realTime struct {
	start time.Time
	until []time.Duration // by the clock that wall selects, since start
	wall  []bool
	slack []time.Duration
	late  []time.Duration // by more than its slack, or negative: early

	mu    sync.Mutex // guards twice
	twice int
}

func (r *realTime) now(wall bool) time.Duration {
	if wall {
		return time.Now().Round(0).Sub(r.start.Round(0))
	}
	return time.Since(r.start)
}

const notFired = time.Duration(-1 << 63)

// fire may be called for many timers at the same time, but for each of them
// once. So the slices need no lock.
func (r *realTime) fire(v int) {
	if r.late[v] != notFired {
		r.mu.Lock()
		r.twice++
		r.mu.Unlock()
	}
	if late := r.now(r.wall[v]) - r.until[v]; late < 0 {
		r.late[v] = late
	} else {
		r.late[v] = max(0, late-r.slack[v])
	}
}

// add sets timer v for a random moment of the next span. A quarter of the
// timers have slack, a quarter use the wall clock, an eighth are moved once.
func (r *realTime) add(w *Wheel[int], v int, d, tick time.Duration) {
	r.late[v] = notFired
	switch v % 8 {
	case 0, 1:
		r.until[v] = r.now(false) + d
		r.slack[v] = 4 * tick
		w.AddSlack(d, r.slack[v], v)
	case 2, 3:
		r.wall[v] = true
		r.until[v] = r.now(true) + d
		w.AddAt(r.start.Add(r.until[v]), v)
	case 4:
		id := w.Add(time.Hour, v)
		r.until[v] = r.now(false) + d
		w.Reset(id, d)
	default:
		r.until[v] = r.now(false) + d
		w.Add(d, v)
	}
}

func TestNothingIsEarlyInRealTime(t *testing.T) {
	n := realTimerCount()
	span := max(300*time.Millisecond, time.Duration(n)*8*time.Microsecond)
	for _, tick := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond} {
		t.Run(tick.String(), func(t *testing.T) {
			r := &realTime{
				start: time.Now(), wall: make([]bool, n),
				until: make([]time.Duration, n), slack: make([]time.Duration, n), late: make([]time.Duration, n),
			}
			w := NewBatch(Config{Tick: tick}, func(batch []Expired[int]) {
				for _, e := range batch {
					r.fire(e.Value)
				}
			})
			var wg sync.WaitGroup
			const adders = 4
			for a := range adders {
				wg.Go(func() {
					rnd := rand.New(rand.NewPCG(uint64(tick), uint64(a)))
					for v := a; v < n; v += adders {
						r.add(w, v, time.Duration(rnd.Int64N(int64(span))), tick)
						if v%400 == a { // leaves the processors to the drivers for a moment
							time.Sleep(time.Millisecond)
						}
					}
				})
			}
			wg.Wait()
			waitQuiet(t, w)
			fatal.If(t, w.Shutdown(t.Context()))
			r.judge(t, tick)
			checkCounters(t, w)
		})
	}
}

func (r *realTime) judge(t *testing.T, tick time.Duration) {
	early := 0
	for v, late := range r.late {
		if late < 0 {
			early++
			t.Errorf("timer %d: %v late", v, late)
		}
		if early == 10 {
			t.Fatal("and so on")
		}
	}
	slices.Sort(r.late)
	n := len(r.late)
	t.Logf("%d timers at ticks of %v: %d early, late by p50 %v, p99 %v, max %v", n, tick, early,
		r.late[n/2], r.late[n*99/100], r.late[n-1])
	if r.twice > 0 {
		t.Errorf("%d fired twice", r.twice)
	}
}
