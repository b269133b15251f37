package wheel

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Faults of other libraries with keyed timers.

// go-zero: if the slot had been passed already, MoveTimer to a later deadline
// fired a turn early, and to an earlier deadline a turn late.
func TestAKeyMovedAcrossTheWrapIsPunctualBothWays(t *testing.T) {
	const tick = time.Millisecond
	delays := []time.Duration{1, 2, 31, 62, 63, 64, 65, 100, 127, 128, 129, 4095, 4096, 4097, 5000}
	synctest.Test(t, func(t *testing.T) {
		start, fired := time.Now(), 0
		k := NewKeyed(Config{Shards: 1, Run: Inline}, func(_ int, want time.Duration) {
			if fired++; time.Since(start) != want {
				t.Errorf("fired at %v, want %v", time.Since(start), want)
			}
		})
		n := 0
		for phase := range 40 {
			for _, from := range delays {
				for _, to := range delays {
					if _, err := k.Set(n, from*tick, time.Since(start)+to*tick); err != nil || !k.Move(n, to*tick) {
						t.Fatal("a pending key was not moved", err)
					}
					n++
				}
			}
			time.Sleep(time.Duration(1+phase%5*13) * tick)
		}
		time.Sleep(10 * time.Second)
		if synctest.Wait(); fired != n || k.Len() != 0 {
			t.Errorf("%d of %d fired, %d left", fired, n, k.Len())
		}
	})
}

// go-zero: MoveTimer to less than an interval ran the task at once, and again
// later.
func TestAKeyMovedBelowATickFiresOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		r := newRecorder()
		k := NewKeyed(cfg, func(_, v int) { r.fire(v) })
		tick := tickOf(cfg)
		for v, d := range []time.Duration{-1, 0, 1, tick / 2, tick - 1} {
			if _, err := k.Set(v, time.Minute, v); err != nil || !k.Move(v, d) {
				t.Error("a pending key was not moved", err)
			}
		}
		time.Sleep(time.Hour)
		if n := len(r.firings()); n != 5 {
			t.Errorf("fired %v", r.firings())
		}
		for _, f := range r.firings() {
			if f.at > tick {
				t.Errorf("fired at %v", f.at)
			}
		}
	})
}

// ouqiang/timewheel: adding a key that was there kept both timers, and only one
// of them could be removed.
func TestAKeySetManyTimesIsOneTimer(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		r := newRecorder()
		k := NewKeyed(cfg, func(_ string, v int) { r.fire(v) })
		for v := range 100 {
			if replaced, err := k.Set("twice", time.Second, v); replaced != (v > 0) || err != nil {
				t.Errorf("Set = %v, %v", replaced, err)
			}
			_, _ = k.Set("removed", time.Second, v)
		}
		if _, ok := k.Remove("removed"); !ok {
			t.Error("Remove = false")
		}
		if _, ok := k.Remove("removed"); ok {
			t.Error("removed twice")
		}
		time.Sleep(time.Minute)
		if got := r.values(); len(got) != 1 || got[0] != 99 {
			t.Errorf("fired %v, want the last value alone", got)
		}
	})
}

// HDT3213/godis: a job that set its own key again could not be removed, because
// its end deleted the new entry: of 2,000 removed jobs, 120 fired.
func TestAKeySetAgainByItsCallbackCanBeRemoved(t *testing.T) {
	for _, run := range []Runner{Inline, Go} {
		const jobs = 2000
		var k *Keyed[int, int]
		var runs, late [jobs]atomic.Int64
		var removed [jobs]atomic.Bool
		k = NewKeyed(Config{Shards: 2, Tick: minTick, Run: run}, func(key, _ int) {
			if removed[key].Load() {
				late[key].Add(1)
			}
			if runs[key].Add(1) == 1 {
				_, _ = k.Set(key, time.Hour, 0)
			}
		})
		var wg sync.WaitGroup
		for worker := range 4 {
			wg.Go(func() {
				for key := worker; key < jobs; key += 4 {
					_, _ = k.Set(key, time.Duration(rand.IntN(int(minTick))), 0)
					for runs[key].Load() == 0 {
						time.Sleep(minTick / 4)
					}
					for {
						if _, ok := k.Remove(key); ok { // after the job has set it
							break
						}
					}
					removed[key].Store(true)
					if _, _, ok := k.Get(key); ok {
						t.Errorf("job %d is there after it was removed", key)
					}
				}
			})
		}
		returns(t, "Remove", wg.Wait)
		if k.Len() != 0 {
			t.Errorf("%d jobs are left", k.Len())
		}
		if err := k.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		for key := range jobs {
			if runs[key].Load() != 1 || late[key].Load() != 0 {
				t.Fatalf("job %d ran %d times", key, runs[key].Load())
			}
		}
	}
}

// go-zero#205: a task that had been moved could not be removed. PR#5753: a
// timer that was set after Drain never fired.
func TestAKeyCanBeRemovedAfterAMoveAndFiresAfterADrain(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		r := newRecorder()
		k := NewKeyed(cfg, func(_, v int) { r.fire(v) })
		for v := range 100 {
			_, _ = k.Set(v, time.Second, v)
			if v%2 == 0 {
				k.Move(v, time.Duration(v+1)*time.Second)
				if _, ok := k.Remove(v); !ok {
					t.Error("a moved key was not removed")
				}
			}
		}
		for range k.Drain() {
		}
		for v := range 100 {
			if _, err := k.Set(v, time.Second, v); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Hour)
		if n := len(r.values()); n != 100 {
			t.Errorf("%d fired, want those that were set after Drain", n)
		}
	})
}
