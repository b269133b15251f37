package wheel

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/quick"
)

// setter sets timers whose functions note when they fire.
type setter struct {
	t      *testing.T
	timers *Timers
	wheel  *Wheel[func()]
	keyed  *Keyed[int, func()]
	keys   int
}

// key returns a new key.
func (s *setter) key() int { s.keys++; return s.keys }

// onReceive calls f when something comes from c, unless the test ends first.
func (s *setter) onReceive(c <-chan time.Time, f func()) {
	stop := make(chan struct{})
	s.t.Cleanup(func() { close(stop) })
	go func() {
		select {
		case <-c:
			f()
		case <-stop:
		}
	}()
}

func (s *setter) onDone(c context.Context, cancel func(), f func()) {
	s.t.Cleanup(cancel)
	go func() { <-c.Done(); f() }()
}

// delayEntrances are the public functions that take a delay or a period.
var delayEntrances = map[string]func(s *setter, d time.Duration, f func()){
	"Add":         func(s *setter, d time.Duration, f func()) { must(s.wheel.Add(d, f)) },
	"with slack":  func(s *setter, d time.Duration, f func()) { must(s.wheel.AddAt(When{After: d, Slack: time.Second}, f)) },
	"slack":       func(s *setter, d time.Duration, f func()) { must(s.wheel.AddAt(When{After: time.Second, Slack: d}, f)) },
	"Wheel.Reset": func(s *setter, d time.Duration, f func()) { s.wheel.Reset(must(s.wheel.Add(10*time.Minute, f)), d) },
	"Extend":      func(s *setter, d time.Duration, f func()) { s.wheel.Extend(must(s.wheel.Add(1, f)), d) },
	"Reset from the wall clock": func(s *setter, d time.Duration, f func()) {
		s.wheel.Reset(must(s.wheel.AddAt(When{At: time.Now().Add(time.Hour)}, f)), d)
	},
	"Keyed.Set":         func(s *setter, d time.Duration, f func()) { _, _ = s.keyed.Set(s.key(), d, f) },
	"Keyed.SetIfAbsent": func(s *setter, d time.Duration, f func()) { _, _ = s.keyed.SetIfAbsent(s.key(), d, f) },
	"Keyed.Move": func(s *setter, d time.Duration, f func()) {
		_, _ = s.keyed.Set(s.key(), 10*time.Minute, f)
		s.keyed.Move(s.keys, d)
	},
	"AfterFunc":   func(s *setter, d time.Duration, f func()) { s.timers.AfterFunc(d, f) },
	"Timer.Reset": func(s *setter, d time.Duration, f func()) { s.timers.AfterFunc(10*time.Minute, f).Reset(d) },
	"NewTimer":    func(s *setter, d time.Duration, f func()) { s.onReceive(s.timers.NewTimer(d).C, f) },
	"Sleep": func(s *setter, d time.Duration, f func()) {
		go func() {
			if s.timers.Sleep(s.t.Context(), d) == nil {
				f()
			}
		}()
	},
	"WithTimeout": func(s *setter, d time.Duration, f func()) {
		c, cancel := s.timers.WithTimeout(s.t.Context(), d)
		s.onDone(c, cancel, f)
	},
	"Every": func(s *setter, d time.Duration, f func()) {
		s.timers.Every(max(d, time.Second), f, EveryOptions{Jitter: 1e-9, Missed: FireAll})
	},
	"Reset of Every": func(s *setter, d time.Duration, f func()) {
		s.timers.Every(time.Minute, f, EveryOptions{}).Reset(max(d, time.Second))
	},
	"NewTicker": func(s *setter, d time.Duration, f func()) {
		s.onReceive(s.timers.NewTicker(max(d, time.Second)).C, f)
	},
	"Ticker.Reset": func(s *setter, d time.Duration, f func()) {
		k := s.timers.NewTicker(time.Minute)
		k.Reset(max(d, time.Second))
		s.onReceive(k.C, f)
	},
	"Reset of ScheduleFunc": func(s *setter, d time.Duration, f func()) {
		s.timers.ScheduleFunc(func(t time.Time) time.Time { return t.AddDate(1, 0, 0) }, f).Reset(d)
	},
}

// timeEntrances are the public functions that take a time.
var timeEntrances = map[string]func(s *setter, at time.Time, f func()){
	"AddAt":            func(s *setter, at time.Time, f func()) { must(s.wheel.AddAt(When{At: at}, f)) },
	"AddAt with slack": func(s *setter, at time.Time, f func()) { must(s.wheel.AddAt(When{At: at, Slack: time.Second}, f)) },
	"Keyed.SetAt":      func(s *setter, at time.Time, f func()) { _, _ = s.keyed.SetAt(s.key(), When{At: at}, f) },
	"WithDeadline": func(s *setter, at time.Time, f func()) {
		c, cancel := s.timers.WithDeadline(s.t.Context(), at)
		s.onDone(c, cancel, f)
	},
	"ScheduleFunc": func(s *setter, at time.Time, f func()) {
		s.timers.ScheduleFunc(func(now time.Time) time.Time {
			if at.Unix() <= now.Unix() { // a schedule never returns a time of the past
				at = now.Add(time.Second)
			}
			return at
		}, f)
	},
}

// checkOrder sets timers through one entrance with values that grow, for wheels
// with ticks of any length. No timer may fire before its predecessor, and the
// last one, which is due in some centuries, must not fire.
func checkOrder[V any](t *testing.T, name string, set func(*setter, V, func()), values func() []V) {
	const unfired = math.MaxInt64
	for _, tick := range []time.Duration{0, 100 * time.Microsecond, time.Second, 24 * time.Hour, math.MaxInt64/2 + 1, math.MaxInt64} {
		synctest.Test(t, func(t *testing.T) {
			cfg, start, call := Config{Tick: tick, Shards: 1}, time.Now(), func(f func()) { f() }
			s := &setter{t: t, timers: NewTimers(cfg), wheel: New(cfg, call), keyed: NewKeyed(cfg, func(_ int, f func()) { f() })}
			var fired []*atomic.Int64 // first, since start
			for _, v := range values() {
				at := new(atomic.Int64)
				at.Store(unfired)
				fired = append(fired, at)
				set(s, v, func() { at.CompareAndSwap(unfired, int64(time.Since(start))) })
			}
			for range 2 * 60 {
				time.Sleep(time.Minute)
			}
			synctest.Wait()
			last := int64(0)
			for k, at := range fired {
				after := at.Load()
				if after < last {
					t.Errorf("%s, tick %v: number %d fired after %v, and the one before it after %v",
						name, tick, k, time.Duration(after), time.Duration(last))
				}
				last = after
			}
			if last != unfired && name != "slack" {
				t.Errorf("%s, tick %v: the farthest one fired after %v", name, tick, time.Duration(last))
			}
			s.timers.Close()
			s.wheel.Close()
			s.keyed.Close()
		})
	}
}

func TestALongerDelayNeverFiresEarlierThanAShorterOne(t *testing.T) {
	quick.Leave(t, "tries many wheels")
	const far = math.MaxInt64
	delays := []time.Duration{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, time.Second, time.Second + 1, time.Hour, far - 1, far}
	for name, set := range delayEntrances {
		checkOrder(t, name, set, func() []time.Duration { return delays })
	}
}

func TestALaterTimeNeverFiresEarlierThanAnEarlierOne(t *testing.T) {
	quick.Leave(t, "tries many wheels")
	for name, set := range timeEntrances {
		checkOrder(t, name, set, func() []time.Time {
			now := time.Now().Round(0)
			return []time.Time{
				time.Unix(math.MinInt64, 0), time.Unix(math.MinInt64+1, 0),
				{},
				time.Unix(-1, 999999999), time.Unix(0, 0),
				now.Add(-1), now, now.Add(1), now.Add(time.Second), now.Add(time.Hour), now.Add(math.MaxInt64),
				latest, latest.Add(1), latest.Add(time.Second), time.Unix(math.MaxInt64-1, 0), time.Unix(math.MaxInt64, 0),
			}
		})
	}
}
