package wheel

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Other libraries lose timers, fire them a turn of their wheel late, or fire
// them twice.

// antlabs/timer: an add that read the clock just before a tick used the slot
// that had just been passed, and fired a full turn late. Here such a timer is
// due at once, however old its clock reading is.
func TestAnAddThatRacesTheTickDoesNotWaitForATurn(t *testing.T) {
	const tick, n = 10 * time.Millisecond, 20_000 // one turn of the lowest level is 640 ms
	var worst, control atomic.Int64
	w := NewBatch(Config{Shards: 1, Tick: tick, Run: Inline}, func(batch []Expired[int]) {
		for _, e := range batch {
			worst.Store(max(worst.Load(), int64(e.Late)))
		}
	})
	defer w.Close()
	var wg sync.WaitGroup
	for k := range 2 {
		wg.Go(func() {
			for i := range n {
				w.Add(time.Duration(i%4)*tick, k)
				if i%100 == 0 {
					time.Sleep(tick / 8)
				}
			}
		})
	}
	wg.Go(func() { // how late this machine makes the timers of package time
		for range 30 {
			begun := time.Now()
			time.Sleep(tick)
			control.Store(max(control.Load(), int64(time.Since(begun)-tick)))
		}
	})
	wg.Wait()
	waitQuiet(t, w)
	if late := time.Duration(worst.Load()); late > 400*time.Millisecond+2*time.Duration(control.Load()) {
		t.Errorf("%v late; package time: %v", late, time.Duration(control.Load()))
	}
}

// antlabs/timer's heap: Stop after the timer had fired removed another timer,
// by the old index.
func TestARemoveAfterTheFiringLeavesTheOthersAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		r := newRecorder()
		w := New(cfg, r.fire)
		var fired []ID
		for v := range 10 {
			fired = append(fired, w.Add(0, v))
		}
		synctest.Wait()
		for v := range 20 {
			w.Add(time.Second, 10+v)
		}
		for _, id := range fired {
			if _, ok := w.Remove(id); ok {
				t.Error("removed what had fired")
			}
		}
		time.Sleep(2 * time.Second)
		if n := len(r.values()); n != 30 {
			t.Errorf("%d of 30 fired", n)
		}
		checkCounters(t, w)
	})
}

// antlabs/timer's heap: the second Stop of a handle did the same.
func TestASecondRemoveLeavesTheOthersAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		r := newRecorder()
		w := New(cfg, r.fire)
		id := w.Add(time.Second, 99)
		first, ok := w.Remove(id)
		for v := range 5 { // the first of them takes the node
			w.Add(time.Second, v)
		}
		if _, again := w.Remove(id); !ok || again || first != 99 {
			t.Errorf("Remove = %d, %v, then %v", first, ok, again)
		}
		time.Sleep(2 * time.Second)
		if n := len(r.values()); n != 5 {
			t.Errorf("%d of 5 fired", n)
		}
	})
}

// antlabs/timer's heap: with no other timer pending, Stop panicked, index out
// of range.
func TestARemoveAfterTheLastFiringIsHarmless(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		w := New(cfg, func(int) {})
		id := w.Add(0, 1)
		synctest.Wait()
		for range 3 {
			if v, ok := w.Remove(id); ok || v != 0 {
				t.Errorf("Remove = %d, %v", v, ok)
			}
		}
	})
}

// antlabs/timer's heap: Reset after the timer had fired reported success, but
// did not set the timer.
func TestAResetAfterTheFiringReportsThatItArmedNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		r := newRecorder()
		w := New(cfg, r.fire)
		id := w.Add(time.Second, 1)
		time.Sleep(2 * time.Second)
		if w.Reset(id, time.Second) || w.Extend(id, time.Second) {
			t.Error("Reset after the firing = true")
		}
		time.Sleep(time.Minute)
		if n := len(r.values()); n != 1 {
			t.Errorf("fired %d times", n)
		}
	})
}

// go-zero: if the slot had been passed already, a timer that was moved to a
// later deadline fired a turn early, and one moved to an earlier deadline a
// turn late.
func TestAMoveAcrossTheWrapIsPunctualBothWays(t *testing.T) {
	const tick = time.Millisecond
	delays := []time.Duration{0, 1, 2, 31, 62, 63, 64, 65, 100, 127, 128, 129, 4095, 4096, 4097, 5000}
	synctest.Test(t, func(t *testing.T) {
		var want [1 << 16]time.Duration
		start, fired := time.Now(), 0
		w := New(Config{Shards: 1, Run: Inline}, func(v int) {
			fired++
			if at := time.Since(start); at != want[v] {
				t.Errorf("fired at %v, want %v", at, want[v])
			}
		})
		n := 0
		for phase := range 64 {
			for _, from := range delays {
				for _, to := range delays {
					want[n] = time.Since(start) + to*tick
					if !w.Reset(w.Add((from+1)*tick, n), to*tick) {
						t.Fatal("Reset = false")
					}
					n++
				}
			}
			time.Sleep(time.Duration(1+phase%5*13) * tick)
		}
		time.Sleep(10 * time.Second)
		if synctest.Wait(); fired != n {
			t.Errorf("%d of %d fired", fired, n)
		}
	})
}

// go-zero: a timer that was moved to less than an interval from now fired at
// once, and again later.
func TestAMoveBelowATickFiresOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		r := newRecorder()
		w := New(cfg, r.fire)
		tick := tickOf(cfg)
		moves := []time.Duration{-tick, 0, 1, tick / 2, tick - 1, tick}
		for v, d := range moves {
			if !w.Reset(w.Add(time.Minute, v), d) {
				t.Error("Reset = false")
			}
		}
		time.Sleep(time.Hour)
		got := r.firings()
		if len(got) != len(moves) {
			t.Errorf("fired %v", got)
		}
		for _, f := range got {
			if f.at < moves[f.v] || f.at > tick {
				t.Errorf("moved to %v, fired at %v", moves[f.v], f.at)
			}
		}
	})
}

// siddontang/go time2: after a slot had grown past its first length, Stop wrote
// into a copy of it that was no longer used.
func TestARemoveHoldsInAFullSlot(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		w := New(cfg, func(int) { t.Error("fired, but was removed") })
		for _, n := range []int{1, 2, 127, 128, 129, 1000, 10_000} {
			var ids []ID
			for v := range n {
				ids = append(ids, w.Add(time.Minute, v))
			}
			rand.Shuffle(n, func(i, k int) { ids[i], ids[k] = ids[k], ids[i] })
			for _, id := range ids {
				if _, ok := w.Remove(id); !ok {
					t.Error("Remove = false")
				}
			}
		}
		time.Sleep(time.Hour)
		if w.Len() != 0 {
			t.Errorf("Len = %d", w.Len())
		}
	})
}

// gf gtimer: each tick put one stale entry of a timer that had been reset back
// into its heap, and stopped there. So 2,000 heartbeats kept all other timers
// from firing.
func TestHeartbeatsStarveNoTimer(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		r := newRecorder()
		w := New(cfg, r.fire)
		var beats []ID
		for v := range 2000 {
			beats = append(beats, w.Add(time.Second, v))
		}
		w.Add(1100*time.Millisecond, -1)
		w.Add(3100*time.Millisecond, -2)
		for range 50 {
			time.Sleep(200 * time.Millisecond)
			for k, id := range beats {
				if ok := k%2 == 0 && w.Extend(id, time.Second) || k%2 == 1 && w.Reset(id, time.Second); !ok {
					t.Fatal("a heartbeat came too late")
				}
			}
		}
		want := []firing{{-1, 1100 * time.Millisecond}, {-2, 3100 * time.Millisecond}}
		if got := r.firings(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("fired %v, want %v", got, want)
		}
		w.Close()
	})
}

// HDT3213/godis: a job that added itself again could not be cancelled, because
// its end deleted the new entry.
func TestATimerThatACallbackAddsAgainCanBeRemoved(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		var w *Wheel[int]
		var mu sync.Mutex
		ids, ran := make(map[int]ID), make(map[int]int)
		w = New(cfg, func(v int) {
			mu.Lock()
			defer mu.Unlock()
			ran[v]++
			ids[v] = w.Add(time.Second, v)
		})
		const jobs = 200
		for v := range jobs {
			w.Add(time.Second, v)
		}
		time.Sleep(1500 * time.Millisecond)
		mu.Lock()
		for v, id := range ids {
			if got, ok := w.Remove(id); !ok || got != v {
				t.Errorf("Remove = %d, %v, want %d", got, ok, v)
			}
		}
		mu.Unlock()
		time.Sleep(time.Minute)
		if len(ran) != jobs {
			t.Errorf("%d jobs ran", len(ran))
		}
		for v, n := range ran {
			if n != 1 {
				t.Errorf("job %d ran %d times", v, n)
			}
		}
		checkCounters(t, w)
	})
}

// ouqiang/timewheel: adding a key again kept both entries, and only one of them
// could be removed. Here each add has its own ID, and ends independently.
func TestEqualValuesAreTimersOfTheirOwn(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		r := newRecorder()
		w := New(cfg, r.fire)
		first, second, third := w.Add(time.Second, 7), w.Add(time.Second, 7), w.Add(time.Second, 7)
		_, ok1 := w.Remove(first)
		_, ok3 := w.Remove(third)
		if first == second || second == third || !ok1 || !ok3 {
			t.Errorf("IDs %x, %x, %x; Remove = %v, %v", first, second, third, ok1, ok3)
		}
		time.Sleep(time.Minute)
		if n := len(r.values()); n != 1 {
			t.Errorf("%d fired, want 1", n)
		}
	})
}
