package wheel

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// stalled returns a wheel with a driver that is blocked after one second, for
// the given time.
func stalled(r *recorder, stall time.Duration) *Wheel[int] {
	w := New(Config{Shards: 1, Run: Inline}, func(v int) {
		if v == -1 {
			time.Sleep(stall)
			return
		}
		r.fire(v)
	})
	w.Add(time.Second, -1)
	return w
}

// After a stall of any length, the timers that came due during it fire at its
// end, once and in the order of their deadlines. That takes at most eight steps
// for each timer, and not one for each tick of the stall.
func TestAfterAStallDueTimersFireOnceInOrderAndInOneSweep(t *testing.T) {
	for _, stall := range []time.Duration{2 * time.Second, time.Minute, time.Hour, 24 * time.Hour, longest / 2} {
		synctest.Test(t, func(t *testing.T) {
			r := newRecorder()
			w := stalled(r, stall)
			const n = 500
			for i := range n {
				w.Add(time.Second+stall/n*time.Duration(i*7919%n)+time.Millisecond, i*7919%n)
			}
			after := w.Add(stall+time.Minute, n)
			time.Sleep(time.Second)
			synctest.Wait()
			wakeups, cascades := w.Stats().Wakeups, cascadesOf(w)
			time.Sleep(stall + 10*time.Second)
			got := r.values()
			if len(got) != n || !slices.IsSorted(got) {
				t.Errorf("stall of %v: %d fired, in order: %v", stall, len(got), slices.IsSorted(got))
			}
			for _, f := range r.firings() {
				if f.at != time.Second+stall {
					t.Fatalf("stall of %v: %d fired at %v", stall, f.v, f.at)
				}
			}
			s := checkCounters(t, w)
			if steps := s.Wakeups - wakeups + cascadesOf(w) - cascades; steps > n*levels {
				t.Errorf("stall of %v: %d wake-ups and cascades for %d timers", stall, steps, n)
			}
			if _, left, ok := w.Get(after); !ok || left > 50*time.Second || left < 49*time.Second {
				t.Errorf("stall of %v: the timer after it is due in %v, %v", stall, left, ok)
			}
			w.Close()
		})
	}
}

// go-zero, rfyiamcool, ouqiang, xiaoxuxiansheng, gf and siddontang count the
// ticks they receive: one missed tick makes every pending timer late.
func TestAStallDelaysNoTimerThatIsDueAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		w := stalled(r, 1500*time.Millisecond)
		for i := range 100 {
			w.Add(2501*time.Millisecond+time.Duration(i)*100*time.Millisecond, i)
		}
		w.AddAt(time.Now().Add(3*time.Second), 1000)
		time.Sleep(time.Minute)
		for _, f := range r.firings() {
			want := 2501*time.Millisecond + time.Duration(f.v)*100*time.Millisecond
			if f.v == 1000 {
				want = 3 * time.Second
			}
			if f.at != want {
				t.Errorf("%d fired at %v, want %v", f.v, f.at, want)
			}
		}
		if n := len(r.firings()); n != 101 {
			t.Errorf("%d fired", n)
		}
	})
}
