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
	must(w.Add(time.Second, -1))
	return w
}

// After a stall of any length, the timers that came due during it fire at its
// end, once and in the order of their deadlines. That takes at most eight steps
// for each timer, and not one for each tick of the stall. Later timers are on
// time, where go-zero, rfyiamcool, ouqiang, xiaoxuxiansheng, gf and siddontang
// count the ticks they receive: one missed tick makes every timer late.
func TestAfterAStallDueTimersFireOnceInOrderAndInOneSweep(t *testing.T) {
	for _, stall := range []time.Duration{2 * time.Second, time.Minute, time.Hour, 24 * time.Hour, longest / 2} {
		synctest.Test(t, func(t *testing.T) {
			r := newRecorder()
			w := stalled(r, stall)
			const n = 500
			for i := range n {
				must(w.Add(time.Second+stall/n*time.Duration(i*7919%n)+time.Millisecond, i*7919%n))
			}
			must(w.Add(stall+time.Minute, n))
			must(w.AddAt(When{At: time.Now().Add(stall + 2*time.Minute)}, n+1))
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
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			after := r.firings()[n:]
			if want := []firing{{n, stall + time.Minute}, {n + 1, stall + 2*time.Minute}}; !slices.Equal(after, want) {
				t.Errorf("stall of %v: later timers fired at %v, want %v", stall, after, want)
			}
			w.Close()
		})
	}
}
