package wheel

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// These faults were reported by users of other libraries. No other test of this
// package covers them.

// RussellLuo/timingwheel#5: a task that was set again and again stopped after
// 1,000 to 300,000 runs.
func TestATimerThatSetsItselfAgainNeverStops(t *testing.T) {
	runs := int64(300_000)
	if testing.Short() {
		runs = 10_000
	}
	inBubble(t, func(t *testing.T, cfg Config) {
		var w *Wheel[int]
		var ran atomic.Int64
		w = New(cfg, func(v int) {
			if ran.Add(1) < runs {
				w.Add(time.Duration(v%5)*tickOf(cfg), v+1)
			}
		})
		w.Add(0, 0)
		time.Sleep(time.Duration(3*runs) * tickOf(cfg))
		if synctest.Wait(); ran.Load() != runs {
			t.Errorf("%d runs of %d", ran.Load(), runs)
		}
		checkCounters(t, w)
	})
}

// RussellLuo/timingwheel#25 and #53: many tasks, scheduled by tasks, caused a
// deadlock.
func TestCallbacksThatAddManyBlockNoOther(t *testing.T) {
	for _, run := range []Runner{Inline, Go} {
		n := int64(memoryCount())
		var w *Wheel[int]
		var ran atomic.Int64
		all := make(chan struct{})
		w = New(Config{Tick: minTick, Run: run}, func(depth int) {
			if ran.Add(1) == n {
				close(all)
			}
			for k := range 10 {
				if depth < 6 {
					w.Add(time.Duration(k)*minTick/3, depth+1)
				}
			}
		})
		returns(t, "the tree of timers", func() {
			w.Add(0, 0)
			<-all
		})
		if err := w.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		for range w.Drain() {
		}
		checkCounters(t, w)
	}
}

// go-zero#205: a task that had been moved could not be removed.
// rfyiamcool/go-timewheel#20: the same without a move.
func TestAMovedTimerCanBeRemoved(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		w := New(cfg, func(v int) { t.Errorf("%d fired, but was removed", v) })
		for v, d := range []time.Duration{time.Millisecond, time.Second, time.Minute, time.Hour, 1000 * time.Hour} {
			for _, to := range []time.Duration{time.Millisecond, time.Second, time.Hour, 1000 * time.Hour} {
				reset, extended, both := w.Add(d, v), w.Add(d, v), w.Add(d, v)
				if !w.Reset(reset, to) || !w.Extend(extended, to) || !w.Extend(both, to) || !w.Reset(both, d) {
					t.Fatal("a pending timer was not moved")
				}
				for _, id := range []ID{reset, extended, both} {
					if got, ok := w.Remove(id); !ok || got != v {
						t.Errorf("Remove = %d, %v", got, ok)
					}
				}
			}
		}
		time.Sleep(2000 * time.Hour)
		checkCounters(t, w)
	})
}

// go-zero PR#5753: a timer that was set after Drain never fired.
func TestATimerAddedAfterADrainFires(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		r := newRecorder()
		w := New(cfg, r.fire)
		for round := range 5 {
			w.Add(time.Second, -1)
			w.Add(time.Hour, -1)
			for id := range w.Drain() {
				if w.Reset(id, 0) || w.Extend(id, time.Hour) {
					t.Error("a drained timer was moved")
				}
			}
			w.Add(time.Second, round)
			time.Sleep(2 * time.Second)
		}
		for i, f := range r.firings() {
			if f.v != i || f.at != time.Duration(2*i+1)*time.Second {
				t.Errorf("firing %d: %v", i, f)
			}
		}
		if n := len(r.firings()); n != 5 {
			t.Errorf("%d fired", n)
		}
	})
}

// netty#14959: a timer that ended in two ways was subtracted twice from the
// number of pending timers, so the limit grew. netty#14081: a stopped timer was
// returned, and fired nevertheless.
func TestTheRoomOfATimerIsReleasedOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		const most = 10
		r := newRecorder()
		cfg.MaxPending = most
		w := New(cfg, r.fire)
		var ids []ID
		fill := func() {
			for w.Len() < most {
				id, err := w.TryAdd(time.Second, 1)
				if err != nil {
					t.Fatalf("%d pending: %v", w.Len(), err)
				}
				ids = append(ids, id)
			}
			if _, err := w.TryAdd(time.Second, 1); !errors.Is(err, ErrFull) {
				t.Fatalf("%d pending: %v", w.Len(), err)
			}
		}
		again := func() { // none of these calls may release room a second time
			for _, id := range ids {
				w.Remove(id)
				w.Reset(id, 0)
			}
			ids = nil
		}
		fill()
		again()
		again()
		fill()
		for range w.Drain() {
		}
		again()
		fill()
		time.Sleep(2 * time.Second)
		again()
		fill()
		w.Close()
		for range w.Drain() {
		}
		if n := len(r.values()); n != most {
			t.Errorf("%d fired, want the %d that were neither removed nor drained", n, most)
		}
		checkCounters(t, w)
	})
}

// glommio#44: a later timer in a narrow slot hid an earlier one in a wide slot,
// and a slot that the cursor had passed was reported one turn late.
func TestALaterFineTimerDoesNotHideAnEarlierCoarseOne(t *testing.T) {
	for level := range 4 {
		synctest.Test(t, func(t *testing.T) {
			width := time.Millisecond << (slotBits * (level + 1))
			r := newRecorder()
			w := New(Config{Shards: 1, Run: Inline}, r.fire)
			w.Add(width+time.Millisecond, 1) // in a wide slot, because it is distant when it is set
			time.Sleep(width - time.Millisecond)
			w.Add(3*time.Millisecond, 2) // in a narrow slot, because it is near when it is set
			if next, ok := w.Next(); !ok || next > 2*time.Millisecond {
				t.Errorf("level %d: Next = %v, %v", level, next, ok)
			}
			time.Sleep(2 * width)
			want := []firing{{1, width + time.Millisecond}, {2, width + 2*time.Millisecond}}
			if got := r.firings(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
				t.Errorf("level %d: fired %v, want %v", level, got, want)
			}
		})
	}
}

// tokio#868, #2473: a timer that had expired but was not yet taken could not be
// removed or moved without harm to other timers.
func TestTheFirstCallbackMayRemoveOrMoveAllDueTimers(t *testing.T) {
	for _, n := range []int{1, 10, 5000} {
		synctest.Test(t, func(t *testing.T) {
			r := newRecorder()
			var w *Wheel[int]
			var mu sync.Mutex
			var ids []ID
			w = New(Config{Shards: 1, Run: Inline}, func(v int) {
				r.fire(v)
				mu.Lock()
				defer mu.Unlock()
				if ids == nil {
					return
				}
				for k, id := range ids {
					switch k % 3 {
					case 0:
						w.Remove(id)
					case 1:
						w.Reset(id, time.Second)
					case 2:
						w.Extend(id, time.Minute)
					}
				}
				ids = nil
				w.Add(0, -1)
			})
			mu.Lock()
			for v := range n {
				ids = append(ids, w.Add(time.Second, v))
			}
			mu.Unlock()
			time.Sleep(time.Hour)
			for i, f := range r.firings() {
				want := time.Second
				if f.v >= 0 && i > 0 {
					want = []time.Duration{0, 2 * time.Second, 61 * time.Second}[f.v%3]
				}
				if f.at != want {
					t.Errorf("%d fired at %v, want %v", f.v, f.at, want)
				}
			}
			if s := checkCounters(t, w); s.Pending != 0 || int(s.Fired+s.Removed) != n+1 {
				t.Errorf("of %d: %d fired, %d removed, %d pending", n+1, s.Fired, s.Removed, s.Pending)
			}
		})
	}
}

// apache/pulsar#6414, netty#1246: a wheel with a short tick kept a core busy
// while nothing was due.
func TestStandingTimersCauseNoWakeUps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(Config{Shards: 1, Tick: minTick}, func(int) {})
		for i := range 100_000 {
			w.Add(time.Hour+time.Duration(i)*time.Millisecond, i)
		}
		time.Sleep(time.Hour - time.Second)
		if n := w.Stats().Wakeups; n > 2*slotCount { // the wide slots in which they are placed first
			t.Errorf("%d wake-ups within an hour in which nothing was due", n)
		}
		for range w.Drain() {
		}
		before := w.Stats().Wakeups
		time.Sleep(1000 * time.Hour)
		if n := w.Stats().Wakeups - before; n > 1 {
			t.Errorf("%d wake-ups of an empty wheel", n)
		}
	})
}

// In a bubble, package time runs a timer that is due at once on the goroutine
// that sets it. Under the race detector, two goroutines that do so at the same
// time end the process (Go 1.26). So the driver must not leave such timers to
// package time.
func TestManyGoroutinesOfABubbleMayAddTimersDueAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const chains, links = 8, 3000
		var fired atomic.Int64
		for range chains {
			var w *Wheel[int]
			w = New(Config{Shards: 1}, func(v int) {
				if fired.Add(1); v < links {
					w.Add(0, v+1)
				}
			})
			w.Add(0, 1)
		}
		if synctest.Wait(); fired.Load() != chains*links {
			t.Errorf("%d of %d fired", fired.Load(), chains*links)
		}
	})
}
