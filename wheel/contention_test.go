package wheel

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// waitQuiet waits until no timer is due or under way, and all pending ones are
// more than a minute away.
func waitQuiet(t *testing.T, w *Wheel[int]) {
	t.Helper()
	for range 10_000 {
		if left, ok := untilNext(w); (!ok || left > time.Minute/2) && held(w) == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("never quiet")
}

func held[T any](w *Wheel[T]) (n int64) {
	for _, sh := range w.shards {
		n += sh.held.Load()
	}
	return n
}

const fateRefused int64 = 100 // there was no room

// check compares the fates with the wheel's own counters, at a quiet point.
func (f *fates) check(s Stats) {
	f.t.Helper()
	var n [fateRefused + 1]uint64
	for v := range f.all {
		n[f.all[v].Load()]++
	}
	if n[fateFired] != s.Fired || n[fateRemoved] != s.Removed || n[fateDrained] != s.Drained {
		f.t.Errorf("%d fired, %d removed, %d drained; the wheel says %d, %d, %d",
			n[fateFired], n[fateRemoved], n[fateDrained], s.Fired, s.Removed, s.Drained)
	}
}

// edge finds the moment at which a timer fires: a removal at that moment comes
// first half of the time.
type edge struct{ after time.Duration }

func (e *edge) wait() {
	for start := time.Now(); time.Since(start) < e.after; {
	}
}

func (e *edge) judge(early bool) {
	if step := time.Duration(rand.Int64N(int64(10 * time.Microsecond))); early {
		e.after += step
	} else {
		e.after = max(0, e.after-step)
	}
}

// At the moment of expiry exactly one side wins: if a call reports that it has
// removed or moved a timer, the callback never starts at the old deadline.
func TestATimerThatWasRemovedOrMovedDoesNotFireAtItsOldDeadline(t *testing.T) {
	for name, end := range map[string]func(w *Wheel[int], id ID) bool{
		"Remove": func(w *Wheel[int], id ID) bool { _, ok := w.Remove(id); return ok },
		"Reset":  func(w *Wheel[int], id ID) bool { return w.Reset(id, time.Hour) },
		"Extend": func(w *Wheel[int], id ID) bool { return w.Extend(id, time.Hour) },
		"both":   func(w *Wheel[int], id ID) bool { return w.Extend(id, time.Hour) && w.Reset(id, time.Minute) },
	} {
		for _, run := range []Runner{Inline, Go} {
			for _, batch := range []bool{false, true} {
				rounds := raceOperations() / 1000
				started := make([]atomic.Bool, rounds)
				w := New(Config{Shards: 1, Tick: minTick, Run: run}, func(v int) { started[v].Store(true) })
				if batch {
					w = NewBatch(Config{Shards: 1, Tick: minTick, Run: run}, func(b []Expired[int]) {
						for _, e := range b {
							started[e.Value].Store(true)
						}
					})
				}
				ended := make([]bool, rounds)
				var e edge
				for v := range rounds {
					id := must(w.Add(minTick, v))
					e.wait()
					ended[v] = end(w, id)
					e.judge(ended[v])
				}
				waitQuiet(t, w)
				noError(t, w.Shutdown(t.Context()))
				pending := 0
				for v := range rounds {
					if ended[v] == started[v].Load() {
						t.Fatalf("%s, batch %v: timer %d: in time %v, started %v", name, batch, v, ended[v], started[v].Load())
					}
					if ended[v] && name != "Remove" {
						pending++
					}
				}
				if w.Len() != pending {
					t.Errorf("%s: %d are pending, want %d", name, w.Len(), pending)
				}
			}
		}
	}
}

// The IDs of ended timers are used again and again, while other timers use the
// same nodes.
func TestAStaleIDTouchesNoOtherTimer(t *testing.T) {
	w := New(Config{Shards: 2}, func(int) {})
	defer w.Close()
	var stale [64]atomic.Uint64
	var over atomic.Bool
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range raceOperations() / 40 {
				id := must(w.Add(time.Hour, worker))
				if i%16 == 0 {
					w.Reset(id, 0)
					for _, _, ok := w.Get(id); ok; _, _, ok = w.Get(id) {
						runtime.Gosched()
					}
				} else if v, ok := w.Remove(id); !ok || v != worker {
					t.Errorf("Remove of one's own timer = %d, %v", v, ok)
				}
				stale[i%len(stale)].Store(uint64(id))
			}
			over.Store(true)
		})
	}
	for range 2 {
		wg.Go(func() {
			for !over.Load() {
				for k := range stale {
					id := ID(stale[k].Load())
					_, removed := w.Remove(id)
					_, _, got := w.Get(id)
					if removed || got || w.Reset(id, 0) || w.Extend(id, 2*time.Hour) {
						t.Errorf("a stale ID, %x, touched a timer", id)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	for _, id := range []ID{0, 1, maxIndex, 1 << 28, 1<<64 - 1, 1<<56 | 1<<28, 255<<56 | 1<<28} {
		_, removed := w.Remove(id)
		_, _, got := w.Get(id)
		if removed || got || w.Reset(id, 0) || w.Extend(id, time.Hour) {
			t.Errorf("ID %x was never given, and means something", id)
		}
	}
	waitQuiet(t, w)
	checkCounters(t, w)
}
