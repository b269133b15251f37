package wheel

import (
	"flag"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

var raceOps = flag.Int("race.ops", 0, "operations of the contention test; 0: 10^6; 2*10^5 under the race detector, else 10^5 in the short form")

func raceOperations() int { return howMany(*raceOps, 1_000_000, 200_000, 100_000) }

// fates records the fate of each timer of a contention test. A timer's value is
// its index.
type fates struct {
	t   *testing.T
	all []atomic.Int64 // 0: pending; else how it ended
	due []atomic.Int64 // by the monotonic clock since start: the timer must not fire before
	now func() int64
}

const (
	fateFired int64 = iota + 1
	fateRemoved
	fateDrained
)

func newFates(t *testing.T, n int) *fates {
	start := time.Now()
	return &fates{t: t, all: make([]atomic.Int64, n), due: make([]atomic.Int64, n), now: func() int64 { return int64(time.Since(start)) }}
}

// end records how a timer ended, once.
func (f *fates) end(v int, how int64) {
	if !f.all[v].CompareAndSwap(0, how) {
		f.t.Errorf("timer %d ended by %d after it had ended by %d", v, how, f.all[v].Load())
	}
}

func (f *fates) fire(v int) {
	if early := f.due[v].Load() - f.now(); early > 0 {
		f.t.Errorf("timer %d fired %v early", v, time.Duration(early))
	}
	f.end(v, fateFired)
}

// Every timer ends exactly once, none is early, and the results of Reset,
// Extend and Remove are true, while 64 goroutines use the wheel.
func TestEveryTimerEndsOnceUnderContention(t *testing.T) {
	for _, cfg := range []Config{{Shards: 1, Run: Inline}, {Shards: 4, Run: Inline}, {Shards: 2}} {
		const workers = 64
		each := raceOperations() / 3 / workers
		f := newFates(t, workers*each)
		w := New(cfg, f.fire)
		var wg sync.WaitGroup
		for worker := range workers {
			wg.Go(func() { f.work(w, worker*each, each) })
		}
		wg.Go(func() { // onlookers
			for range 50 {
				w.Stats()
				w.Len()
				for id := range w.All() {
					w.Get(id)
				}
			}
		})
		wg.Wait()
		for range 1000 { // the last deadlines are some milliseconds away
			if w.Len() == 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		must(w.Add(time.Hour, 0)) // something to drain
		f.all[0].Store(0)
		fatal.If(t, w.Shutdown(t.Context()))
		for _, v := range w.Drain() {
			f.end(v, fateDrained)
		}
		for v := range f.all {
			if f.all[v].Load() == 0 {
				t.Fatalf("timer %d was lost", v)
			}
		}
		if s := checkCounters(t, w); s.Pending != 0 || int(s.Added) != workers*each+1 {
			t.Errorf("%d added, %d pending", s.Added, s.Pending)
		}
		for _, sh := range w.shards {
			verifyEmpty(t, &sh.ticks)
		}
	}
}

// work adds timers from first on and moves its own latest ones. No other
// goroutine moves them, so it knows their deadlines.
func (f *fates) work(w *Wheel[int], first, n int) {
	r := rand.New(rand.NewPCG(uint64(first), 3))
	var ids [16]ID
	var vs [16]int
	short := func() time.Duration { return time.Duration(r.Int64N(int64(5 * time.Millisecond))) }
	for i := range n {
		v, k := first+i, i%len(ids)
		d := short()
		f.due[v].Store(f.now() + int64(d))
		ids[k], vs[k] = must(w.Add(d, v)), v
		k = r.IntN(len(ids))
		if ids[k] == 0 {
			continue
		}
		switch r.IntN(4) {
		case 0:
			if got, ok := w.Remove(ids[k]); ok {
				f.end(got, fateRemoved)
				if got != vs[k] {
					f.t.Errorf("removed %d, want %d", got, vs[k])
				}
			}
		case 1:
			d, due := short(), &f.due[vs[k]]
			at := f.now() + int64(d)
			due.Store(min(due.Load(), at))
			if w.Reset(ids[k], d) {
				due.Store(at)
				f.moved(vs[k], at)
			}
		case 2:
			d, due := short(), &f.due[vs[k]]
			at := max(due.Load(), f.now()+int64(d))
			if w.Extend(ids[k], d) {
				due.Store(at)
				f.moved(vs[k], at)
			}
		case 3:
			if v, left, ok := w.Get(ids[k]); ok && (v != vs[k] || left > time.Minute) {
				f.t.Errorf("Get = %d, %v", v, left)
			}
		}
	}
}

// moved checks that a timer that was just moved does not fire before its new
// deadline.
func (f *fates) moved(v int, at int64) {
	if f.all[v].Load() == fateFired && f.now() < at {
		f.t.Errorf("timer %d was moved and fired all the same", v)
	}
}

func TestMaxPendingIsExactUnderContention(t *testing.T) {
	const most, workers = 96, 32
	w := New(Config{Shards: 64, MaxPending: most, Run: Inline}, func(int) {})
	defer w.Close()
	var held, refused atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			var ids [most / workers * 2]ID // of all workers, twice as many as there is room for
			for i := range raceOperations() / 100 {
				k := i % len(ids)
				if ids[k] != 0 {
					held.Add(-1)
					w.Remove(ids[k])
				}
				if ids[k], _ = w.Add(time.Hour, 0); ids[k] == 0 {
					refused.Add(1)
				} else if n := held.Add(1); n > most || w.Len() > most {
					t.Errorf("%d are held, Len = %d", n, w.Len())
					return
				}
			}
		})
	}
	wg.Wait()
	for range most { // what is left of the room can be used
		if _, err := w.Add(time.Hour, 0); err == nil {
			held.Add(1)
		}
	}
	if held.Load() != most || w.Len() != most || refused.Load() == 0 {
		t.Errorf("%d are held and %d pending, want %d; %d were refused", held.Load(), w.Len(), most, refused.Load())
	}
}

// An Extend that must take the lock must not undo a longer Extend that came
// between its first read and its move.
func TestExtendNeverMovesADeadlineBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		w := New(Config{Shards: 1}, r.fire)
		id := must(w.Add(10*time.Second, 1))
		sh := w.shards[0]
		sh.mu.Lock()
		sh.ticks.reset(id.index(), sh.nodes.at(id.index()), 5000, false)
		sh.mu.Unlock()
		time.Sleep(time.Minute)
		if got := r.firings(); len(got) != 1 || got[0].at != 10*time.Second {
			t.Errorf("fired %v, want at 10s", got)
		}
	})
}
