package wheel

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// steppedClock is a wall clock that can be stepped.
type steppedClock struct{ offset atomic.Int64 }

func (c *steppedClock) now() time.Time {
	return time.Now().Round(0).Add(time.Duration(c.offset.Load()))
}
func (c *steppedClock) step(by time.Duration) { c.offset.Add(int64(by)) }

// stepped returns a wheel with a clock that can be stepped.
func stepped(cfg Config, r *recorder) (*Wheel[int], *steppedClock) {
	w := New(cfg, r.fire)
	c := new(steppedClock)
	w.settings.wallNow = c.now
	return w, c
}

func TestAStepBackDefersWallTimersAndNoOthers(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		r := newRecorder()
		w, clock := stepped(cfg, r)
		for i := range 2000 {
			must(w.AddAt(When{At: clock.now().Add(time.Duration(1+i) * time.Second)}, i))
		}
		must(w.Add(2*time.Hour, -1))
		time.Sleep(10*time.Second + tickOf(cfg))
		clock.step(-time.Hour)
		if n := len(r.values()); n != 10 {
			t.Fatalf("%d fired before the step", n)
		}
		removed := 0
		for id, v := range w.All() {
			if v%2 == 1 {
				w.Remove(id)
				removed++
			}
		}
		time.Sleep(time.Hour - time.Second)
		if n := len(r.values()); n != 10 {
			t.Fatalf("%d fired early", n-10)
		}
		must(w.AddAt(When{At: clock.now().Add(-time.Second)}, 5000)) // in the past of this clock
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		for _, f := range r.firings()[10:] {
			want := time.Hour + time.Duration(1+f.v)*time.Second
			switch f.v {
			case -1:
				want = 2 * time.Hour
			case 5000:
				want = time.Hour + 9*time.Second + tickOf(cfg)
			}
			if late := f.at - want; late < 0 || late >= tickOf(cfg) && f.v != 5000 {
				t.Fatalf("%d fired at %v, want %v", f.v, f.at, want)
			}
		}
		s := checkCounters(t, w)
		if s.Pending != 0 || int(s.Fired)+removed != 2002 {
			t.Errorf("%d fired, %d removed, %d pending", s.Fired, removed, s.Pending)
		}
	})
}

// WithDeadline measures a time with a monotonic reading on the monotonic clock.
// AddAt does not. In a bubble no time has such a reading, so it comes from
// outside.
func TestMonotonicReadingsOfADeadlineAreIgnored(t *testing.T) {
	outside := time.Now()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		w, clock := stepped(Config{}, r)
		clock.step(outside.Round(0).Sub(clock.now()))
		must(w.AddAt(When{At: outside.Add(time.Hour)}, 1))
		time.Sleep(time.Hour - time.Second)
		if len(r.values()) != 0 {
			t.Error("fired by the monotonic clock")
		}
		time.Sleep(2 * time.Second)
		if len(r.values()) != 1 {
			t.Error("not fired")
		}
	})
}
