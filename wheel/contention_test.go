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
		if left, ok := w.Next(); (!ok || left > time.Minute/2) && held(w) == 0 {
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

// Every timer ends exactly once and in one way: it is fired, removed, drained
// or dropped. 64 goroutines use all operations of the wheel. At each quiet
// point, the wheel's counters must agree, and its room must be exact.
func TestTheCountersAddUpAtEveryQuietPoint(t *testing.T) {
	const workers, rounds, most = 64, 4, 20_000
	each := max(1, raceOperations()/workers/rounds/4)
	var runs atomic.Int64
	for _, cfg := range []Config{{Shards: 4}, {Shards: 1, Run: Inline}} {
		run := cfg.Run
		if run == nil {
			run = Go
		}
		cfg.MaxPending = most
		cfg.OnPanic = func(any, []byte) {}
		cfg.Run = runnerOf(func(f func()) {
			if runs.Add(1)%64 == 0 {
				panic("dropped")
			}
			run.Run(f)
		})
		f := newFates(t, workers*rounds*each)
		w := New(cfg, f.fire)
		for round := range rounds {
			var wg sync.WaitGroup
			for worker := range workers {
				wg.Go(func() { f.live(w, (round*workers+worker)*each, each) })
			}
			wg.Go(func() {
				for range 5 {
					n := 0
					for _, v := range w.Drain() {
						f.end(v, fateDrained)
						if n++; n == 100 {
							break
						}
					}
					runtime.Gosched()
				}
			})
			wg.Wait()
			waitQuiet(t, w)
			s := checkCounters(t, w)
			f.check(s)
			if room := most - s.Pending; w.settings.limit.n.Load() != int64(s.Pending) {
				t.Errorf("%d pending, but room for %d, want %d", s.Pending, most-w.settings.limit.n.Load(), room)
			}
		}
		if err := w.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		for _, v := range w.Drain() {
			f.end(v, fateDrained)
		}
		if s := checkCounters(t, w); s.Pending != 0 {
			t.Errorf("%d pending", s.Pending)
		}
		f.check(w.Stats())
	}
}

const fateRefused int64 = 100 // there was no room

// live uses all kinds of adds; one in 64 of the timers is distant.
func (f *fates) live(w *Wheel[int], first, n int) {
	r := rand.New(rand.NewPCG(uint64(first), 5))
	var ids [16]ID
	for i := range n {
		v, d := first+i, time.Duration(r.Int64N(int64(3*time.Millisecond)))
		if i%64 == 0 {
			d = time.Hour
		}
		k := i % len(ids)
		switch i % 8 {
		case 0:
			ids[k] = w.AddSlack(d, d/2, v)
		case 1:
			ids[k] = w.AddAt(time.Now().Add(d), v)
		default:
			ids[k] = w.Add(d, v)
		}
		if ids[k] == 0 {
			f.end(v, fateRefused)
		}
		switch k = r.IntN(len(ids)); r.IntN(8) {
		case 0, 1:
			if got, ok := w.Remove(ids[k]); ok {
				f.end(got, fateRemoved)
			}
		case 2:
			w.Reset(ids[k], time.Duration(r.Int64N(int64(time.Millisecond))))
		case 3, 4:
			w.Extend(ids[k], time.Duration(r.Int64N(int64(time.Millisecond))))
		case 5:
			w.Get(ids[k])
		}
	}
}

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

// At the moment of expiry exactly one side wins: if a Remove reports true, the
// callback never starts.
func TestARemoveThatReportsTrueMeansThatTheCallbackNeverStarts(t *testing.T) {
	for name, cfg := range map[string]Config{"inline": {Shards: 1, Tick: minTick, Run: Inline}, "go": {Shards: 1, Tick: minTick}} {
		for _, batch := range []bool{false, true} {
			rounds := raceOperations() / 1000
			started := make([]atomic.Bool, rounds)
			w := New(cfg, func(v int) { started[v].Store(true) })
			if batch {
				w = NewBatch(cfg, func(b []Expired[int]) {
					for _, e := range b {
						started[e.Value].Store(true)
					}
				})
			}
			removed := make([]bool, rounds)
			var e edge
			for v := range rounds {
				id := w.Add(minTick, v)
				e.wait()
				_, removed[v] = w.Remove(id)
				e.judge(removed[v])
			}
			waitQuiet(t, w)
			if err := w.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			n := 0
			for v := range rounds {
				if removed[v] == started[v].Load() {
					t.Fatalf("%s: timer %d: removed %v, started %v", name, v, removed[v], started[v].Load())
				}
				if removed[v] {
					n++
				}
			}
			t.Logf("%s, batch %v: %d of %d removed in time", name, batch, n, rounds)
		}
	}
}

// A timer that many goroutines move around its own expiry fires once.
func TestATimerMovedAroundItsExpiryFiresOnce(t *testing.T) {
	var fired [8]atomic.Int64
	w := New(Config{Shards: 1, Tick: minTick, Run: Inline}, func(v int) { fired[v].Add(1) })
	defer w.Close()
	for round := range max(10, raceOperations()/8000) {
		var ids [len(fired)]ID
		for v := range ids {
			fired[v].Store(0)
			ids[v] = w.Add(minTick, v)
		}
		var wg sync.WaitGroup
		for mover := range 4 {
			wg.Go(func() {
				for k, moved := 0, true; moved && k < 1000; k++ {
					moved = false
					for _, id := range ids {
						d := time.Duration((k+mover)%3) * minTick / 2
						moved = (mover%2 == 0 && w.Reset(id, d) || mover%2 == 1 && w.Extend(id, d)) || moved
					}
				}
			})
		}
		wg.Wait()
		waitQuiet(t, w)
		for v := range fired {
			if n := fired[v].Load(); n != 1 {
				t.Fatalf("round %d: timer %d fired %d times", round, v, n)
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
				id := w.Add(time.Hour, worker)
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
