package wheel

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/quick"
)

// sinks is one timer of each kind of owner. A test sets timers through an
// entrance, and notes when each fires.
type sinks struct {
	timers *Timers
	wheel  *Wheel[int]
	keyed  *Keyed[int, int]
	keys   int

	mu    sync.Mutex // guards funcs
	funcs []func()   // a value of wheel and keyed is an index
}

func newSinks(cfg Config) *sinks {
	s := &sinks{timers: NewTimers(cfg)}
	s.wheel, s.keyed = New(cfg, s.call), NewKeyed(cfg, func(_, v int) { s.call(v) })
	return s
}

// value returns the value that stands for f.
func (s *sinks) value(f func()) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.funcs = append(s.funcs, f)
	return len(s.funcs) - 1
}

func (s *sinks) call(v int) {
	s.mu.Lock()
	f := s.funcs[v]
	s.mu.Unlock()
	f()
}

func (s *sinks) close() {
	s.timers.Close()
	s.wheel.Close()
	s.keyed.Close()
}

// whenDone calls f after c is done.
func whenDone(c context.Context, f func()) { go func() { <-c.Done(); f() }() }

// onReceive calls f when something comes from c, unless the test ends first.
func (s *sinks) onReceive(t *testing.T, c <-chan time.Time, f func()) {
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	go func() {
		select {
		case <-c:
			f()
		case <-stop:
		}
	}()
}

// delayEntrances are all public functions that take a delay or a period.
var delayEntrances = map[string]func(t *testing.T, s *sinks, d time.Duration, f func()){
	"Add":      func(t *testing.T, s *sinks, d time.Duration, f func()) { s.wheel.Add(d, s.value(f)) },
	"TryAdd":   func(t *testing.T, s *sinks, d time.Duration, f func()) { _, _ = s.wheel.TryAdd(d, s.value(f)) },
	"AddSlack": func(t *testing.T, s *sinks, d time.Duration, f func()) { s.wheel.AddSlack(d, time.Second, s.value(f)) },
	"slack":    func(t *testing.T, s *sinks, d time.Duration, f func()) { s.wheel.AddSlack(time.Second, d, s.value(f)) },
	"Wheel.Reset": func(t *testing.T, s *sinks, d time.Duration, f func()) {
		s.wheel.Reset(s.wheel.Add(10*time.Minute, s.value(f)), d)
	},
	"Extend": func(t *testing.T, s *sinks, d time.Duration, f func()) { s.wheel.Extend(s.wheel.Add(1, s.value(f)), d) },
	"Reset from the wall clock": func(t *testing.T, s *sinks, d time.Duration, f func()) {
		s.wheel.Reset(s.wheel.AddAt(time.Now().Add(time.Hour), s.value(f)), d)
	},
	"Keyed.Set": func(t *testing.T, s *sinks, d time.Duration, f func()) {
		s.keys++
		_, _ = s.keyed.Set(s.keys, d, s.value(f))
	},
	"Keyed.SetIfAbsent": func(t *testing.T, s *sinks, d time.Duration, f func()) {
		s.keys++
		_, _ = s.keyed.SetIfAbsent(s.keys, d, s.value(f))
	},
	"Keyed.Move": func(t *testing.T, s *sinks, d time.Duration, f func()) {
		s.keys++
		_, _ = s.keyed.Set(s.keys, 10*time.Minute, s.value(f))
		s.keyed.Move(s.keys, d)
	},
	"AfterFunc": func(t *testing.T, s *sinks, d time.Duration, f func()) { s.timers.AfterFunc(d, f) },
	"Timer.Reset": func(t *testing.T, s *sinks, d time.Duration, f func()) {
		s.timers.AfterFunc(10*time.Minute, f).Reset(d)
	},
	"NewTimer": func(t *testing.T, s *sinks, d time.Duration, f func()) { s.onReceive(t, s.timers.NewTimer(d).C, f) },
	"After":    func(t *testing.T, s *sinks, d time.Duration, f func()) { s.onReceive(t, s.timers.After(d), f) },
	"Sleep": func(t *testing.T, s *sinks, d time.Duration, f func()) {
		go func() {
			if s.timers.Sleep(t.Context(), d) == nil {
				f()
			}
		}()
	},
	"WithTimeout": func(t *testing.T, s *sinks, d time.Duration, f func()) {
		c, cancel := s.timers.WithTimeout(t.Context(), d)
		t.Cleanup(cancel)
		whenDone(c, f)
	},
	"Every": func(t *testing.T, s *sinks, d time.Duration, f func()) {
		s.timers.Every(max(d, time.Second), f, EveryOptions{Jitter: 1e-9, Missed: CatchUp})
	},
	"Reset of Every": func(t *testing.T, s *sinks, d time.Duration, f func()) {
		s.timers.Every(time.Minute, f, EveryOptions{}).Reset(max(d, time.Second))
	},
	"NewTicker": func(t *testing.T, s *sinks, d time.Duration, f func()) {
		s.onReceive(t, s.timers.NewTicker(max(d, time.Second)).C, f)
	},
	"Ticker.Reset": func(t *testing.T, s *sinks, d time.Duration, f func()) {
		k := s.timers.NewTicker(time.Minute)
		k.Reset(max(d, time.Second))
		s.onReceive(t, k.C, f)
	},
	"Reset of ScheduleFunc": func(t *testing.T, s *sinks, d time.Duration, f func()) {
		s.timers.ScheduleFunc(func(t time.Time) time.Time { return t.AddDate(1, 0, 0) }, f).Reset(d)
	},
}

// timeEntrances are all public functions that take a time.
var timeEntrances = map[string]func(t *testing.T, s *sinks, at time.Time, f func()){
	"AddAt": func(t *testing.T, s *sinks, at time.Time, f func()) { s.wheel.AddAt(at, s.value(f)) },
	"WithDeadline": func(t *testing.T, s *sinks, at time.Time, f func()) {
		c, cancel := s.timers.WithDeadline(t.Context(), at)
		t.Cleanup(cancel)
		whenDone(c, f)
	},
	"ScheduleFunc": func(t *testing.T, s *sinks, at time.Time, f func()) {
		s.timers.ScheduleFunc(func(now time.Time) time.Time {
			if at.Unix() <= now.Unix() { // a schedule never returns a time of the past
				at = now.Add(time.Second)
			}
			return at
		}, f)
	},
}

// watched sets a timer through each of the functions in turn, from the shortest
// delay to the longest, and returns when each fired first. Zero: not within
// two hours.
func watched(t *testing.T, cfg Config, n int, set func(s *sinks, k int, f func())) []time.Duration {
	s, start := newSinks(cfg), time.Now()
	defer s.close()
	fired := make([]atomic.Int64, n)
	for k := range n {
		set(s, k, func() { fired[k].CompareAndSwap(0, int64(time.Since(start))+1) })
	}
	for range 2 * 60 {
		time.Sleep(time.Minute)
	}
	synctest.Wait()
	after := make([]time.Duration, n)
	for k := range n {
		after[k] = time.Duration(fired[k].Load())
	}
	return after
}

func TestALongerDelayNeverFiresEarlierThanAShorterOne(t *testing.T) {
	quick.Leave(t, "tries thousands of wheels")
	const far = math.MaxInt64
	delays := []time.Duration{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, time.Second, time.Second + 1, time.Hour, far - 1, far}
	for _, tick := range []time.Duration{0, 100 * time.Microsecond, time.Second, 24 * time.Hour, far/2 + 1, far} {
		for name, set := range delayEntrances {
			synctest.Test(t, func(t *testing.T) {
				got := watched(t, Config{Tick: tick, Shards: 1}, len(delays), func(s *sinks, k int, f func()) { set(t, s, delays[k], f) })
				checkOrder(t, name, tick, got)
			})
		}
	}
}

func TestALaterTimeNeverFiresEarlierThanAnEarlierOne(t *testing.T) {
	quick.Leave(t, "tries thousands of wheels")
	for _, tick := range []time.Duration{0, 100 * time.Microsecond, time.Second, 24 * time.Hour, math.MaxInt64/2 + 1, math.MaxInt64} {
		for name, set := range timeEntrances {
			synctest.Test(t, func(t *testing.T) {
				now := time.Now().Round(0)
				times := []time.Time{
					time.Unix(math.MinInt64, 0), time.Unix(math.MinInt64+1, 0),
					{},
					time.Unix(-1, 999999999), time.Unix(0, 0),
					now.Add(-1), now, now.Add(1), now.Add(time.Second), now.Add(time.Hour), now.Add(math.MaxInt64),
					latest, latest.Add(1), latest.Add(time.Second), time.Unix(math.MaxInt64-1, 0), time.Unix(math.MaxInt64, 0),
				}
				got := watched(t, Config{Tick: tick, Shards: 1}, len(times), func(s *sinks, k int, f func()) { set(t, s, times[k], f) })
				checkOrder(t, name, tick, got)
			})
		}
	}
}

// checkOrder checks that no timer fired before its predecessor, and that the
// last one, which is due in some centuries, did not fire.
func checkOrder(t *testing.T, name string, tick time.Duration, fired []time.Duration) {
	t.Helper()
	last := len(fired) - 1
	for k := 1; k <= last; k++ {
		if fired[k] != 0 && (fired[k-1] == 0 || fired[k] < fired[k-1]) {
			t.Errorf("%s, tick %v: number %d fired after %v, and the one before it after %v (0: never)", name, tick, k, fired[k], fired[k-1])
		}
	}
	if fired[last] != 0 && name != "slack" {
		t.Errorf("%s, tick %v: the farthest one fired after %v", name, tick, fired[last])
	}
}
