package wheel

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// gauge counts the functions that run at the same time.
type gauge struct{ now, peak, total atomic.Int64 }

// use counts as a running function for d.
func (g *gauge) use(d time.Duration) {
	n := g.now.Add(1)
	for p := g.peak.Load(); n > p && !g.peak.CompareAndSwap(p, n); p = g.peak.Load() {
	}
	time.Sleep(d)
	g.total.Add(1)
	g.now.Add(-1)
}

func (g *gauge) check(t *testing.T, peak, total int64) {
	t.Helper()
	if g.peak.Load() != peak || g.total.Load() != total || g.now.Load() != 0 {
		t.Errorf("%d ran, %d at a time, want %d and %d; %d still run", g.total.Load(), g.peak.Load(), total, peak, g.now.Load())
	}
}

func TestAPoolRunsInTheOrderInWhichFunctionsCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, queue := range []int{0, 1, 7, 1000} {
			var order []int
			p := NewPool(PoolConfig{Workers: 1, Queue: queue})
			for i := range 100 {
				go p.Run(func() { time.Sleep(time.Millisecond); order = append(order, i) })
				synctest.Wait() // until it runs, waits, or is blocked
			}
			p.Close()
			if len(order) != 100 || !slices.IsSorted(order) {
				t.Errorf("queue of %d: ran %v", queue, order)
			}
		}
	})
}

func TestAFullPoolBlocksRunUntilThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, queue := range []int{0, 1, 2} {
			p := NewPool(PoolConfig{Workers: 1, Queue: queue})
			start := time.Now()
			for i := range 6 {
				p.Run(func() { time.Sleep(time.Second) })
				want := time.Duration(max(0, i-queue)) * time.Second
				if waited := time.Since(start); waited != want {
					t.Errorf("queue of %d: Run number %d returned after %v, want %v", queue, i, waited, want)
				}
			}
			p.Close()
		}
	})
}

func TestABlockedPoolDelaysOnlyTheShardThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		p := NewPool(PoolConfig{Workers: 1})
		w := New(Config{Shards: 2, Run: p}, func(v int) {
			r.fire(v)
			time.Sleep(time.Minute)
		})
		addTo(w.shards[0], time.Second, 1) // runs
		addTo(w.shards[0], time.Second, 1) // waits
		addTo(w.shards[0], time.Second, 1) // stays pending
		addTo(w.shards[1], time.Hour, 2)
		time.Sleep(30 * time.Second)
		if n := w.Len(); n != 2 {
			t.Errorf("%d pending, want 2: the timer that waits in Run has fired, those after it have not", n)
		}
		time.Sleep(2 * time.Hour)
		want := []firing{{1, time.Second}, {1, 61 * time.Second}, {1, 121 * time.Second}, {2, time.Hour}}
		if got := r.firings(); !slices.Equal(got, want) {
			t.Errorf("fired %v, want %v", got, want)
		}
		checkCounters(t, w)
	})
}

func TestAFullPoolDropsAndTheWheelCountsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, batch := range []int{1, batchSize} {
			var g gauge
			p := NewPool(PoolConfig{Workers: 2, Queue: 3, Full: Drop})
			cfg := Config{Shards: 1, Run: p}
			w := New(cfg, func(int) { g.use(time.Hour) })
			if batch > 1 {
				w = NewBatch(cfg, func([]Expired[int]) { g.use(time.Hour) })
			}
			for i := range 5*batch + 7 {
				must(w.Add(time.Second, i))
			}
			time.Sleep(time.Minute)
			if s := checkCounters(t, w); s.Dropped != 7 || int(s.Fired) != 5*batch {
				t.Errorf("batches of %d: %d dropped, want 7", batch, s.Dropped)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Hour)
			if err := w.Shutdown(ctx); err != nil {
				t.Errorf("Shutdown waits for dropped timers: %v", err)
			}
			cancel()
			p.Close()
			g.check(t, 2, 5)
		}
	})
}

func TestAFullPoolSpillsOntoGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gauge
		p := NewPool(PoolConfig{Workers: 2, Queue: 3, Full: Spill})
		w := New(Config{Run: p}, func(int) { g.use(time.Hour) })
		for i := range 20 {
			must(w.Add(time.Second, i))
		}
		time.Sleep(time.Second + 90*time.Minute)
		if now, total := g.now.Load(), g.total.Load(); now != 2 || total != 17 {
			t.Errorf("%d run in the second hour and %d have run, want 2 and 17", now, total)
		}
		noError(t, w.Shutdown(t.Context()))
		p.Close()
		g.check(t, 17, 20)
		checkCounters(t, w)
	})
}

func TestAnIdlePoolHasNoGoroutineAndKeepsNoLongQueue(t *testing.T) {
	before := runtime.NumGoroutine()
	p := NewPool(PoolConfig{Workers: 4, Queue: 10_000})
	release := make(chan struct{})
	for range 10_000 {
		p.Run(func() { <-release })
	}
	if n := runtime.NumGoroutine() - before; n > 4 {
		t.Errorf("%d goroutines for 4 workers", n)
	}
	close(release)
	for range 10_000 {
		if runtime.NumGoroutine() <= before {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines, %d before", n, before)
	}
	p.Close() // so that the test may read it
	if n := len(p.queue.ring); n > keepQueued {
		t.Errorf("room for %d is kept", n)
	}
}

func TestCloseDoesNotWaitForRoomInAPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, queue := range []int{0, 1} {
			var g gauge
			p := NewPool(PoolConfig{Workers: 1, Queue: queue})
			w := New(Config{Shards: 2, Run: p}, func(int) { g.use(time.Hour) })
			other := New(Config{Shards: 1, Run: p}, func(int) { g.use(time.Hour) })
			for i := range 10 {
				addTo(w.shards[i%2], time.Second, i)
			}
			must(other.Add(2*time.Second, 1))
			time.Sleep(time.Minute)
			start := time.Now()
			w.Close()
			if waited := time.Since(start); waited != 0 {
				t.Errorf("Close has waited %v", waited)
			}
			if n := p.blocks(); n != 1 {
				t.Errorf("%d wait in Run, want 1 of the other wheel", n)
			}
			fired := int64(w.Stats().Fired)
			noError(t, w.Shutdown(t.Context()))
			p.Close()
			g.check(t, 1, fired+1)
			if s := checkCounters(t, w); fired == 0 || s.Pending != 10-int(fired) || s.Dropped != 0 {
				t.Errorf("%d fired, %d pending, %d dropped", s.Fired, s.Pending, s.Dropped)
			}
		}
	})
}

// blocks returns the number of calls of Run that wait.
func (p *Pool) blocks() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for place := range p.queue.n {
		if p.queue.at(place).unblocked != nil {
			n++
		}
	}
	return n
}

func TestACallbackMayCloseItsWheelWhileThePoolIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *Wheel[int]
		var drained, ran atomic.Int32
		p := NewPool(PoolConfig{Workers: 1})
		w = New(Config{Shards: 2, Run: p}, func(int) {
			time.Sleep(time.Second) // both drivers wait in Run
			w.Close()
			for range w.Drain() {
				drained.Add(1)
			}
			ran.Add(1)
		})
		for i := range 10 {
			addTo(w.shards[i%2], time.Second, i)
		}
		time.Sleep(time.Minute)
		noError(t, w.Shutdown(t.Context()))
		if ran.Load() != 3 || drained.Load() != 7 {
			t.Errorf("%d ran, %d drained", ran.Load(), drained.Load())
		}
		checkCounters(t, w)
	})
}

func TestAPoolsCloseWaitsForAllEarlierFunctions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, full := range []Overflow{Block, Drop, Spill} {
			var g gauge
			p := NewPool(PoolConfig{Workers: 2, Queue: 3, Full: full})
			var returned atomic.Int32
			for i := range 10 {
				go func() { p.Run(func() { g.use(time.Duration(i+1) * time.Second) }); returned.Add(1) }()
				synctest.Wait()
			}
			runs := map[Overflow]int64{Block: 10, Drop: 5, Spill: 10}[full]
			for range 2 {
				go p.Close()
			}
			synctest.Wait()
			if n := returned.Load(); n != 10 {
				t.Errorf("%d: %d of 10 calls of Run have returned", full, n)
			}
			p.Run(func() { t.Error("ran after Close") })
			p.Close()
			if g.total.Load() != runs || g.now.Load() != 0 {
				t.Errorf("%d: %d have run and %d run after Close, want %d and 0", full, g.total.Load(), g.now.Load(), runs)
			}
			p.Close()
		}
	})
}

// Every function that a Pool accepts runs once, before Close returns, and never
// too many at the same time. Wheels open, fire and close, other goroutines call
// Run and Close, and functions call Goexit.
func TestAPoolLosesNothingUnderContention(t *testing.T) {
	const workers = 3
	for round := range 90 {
		full := Overflow(round % 3)
		p := NewPool(PoolConfig{Workers: workers, Queue: 5, Full: full})
		var came, ran, now, fired atomic.Int64
		var closed atomic.Bool
		use := func() {
			if n := now.Add(1); n > workers && full != Spill || closed.Load() {
				t.Errorf("%d at a time, or after Close", n)
			}
			if rand.IntN(100) == 0 {
				runtime.Gosched()
			}
			now.Add(-1)
			if ran.Add(1)%64 == 0 {
				runtime.Goexit()
			}
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range raceOperations() / 2000 {
					if p.offer(use, nil) {
						came.Add(1)
					}
				}
			})
			wg.Go(func() {
				w := New(Config{Shards: 2, Tick: minTick, Run: p}, func(int) { use() })
				for range raceOperations() / 2000 {
					must(w.Add(time.Duration(rand.IntN(int(2*time.Millisecond))), 1))
				}
				time.Sleep(time.Duration(rand.IntN(int(2 * time.Millisecond))))
				noError(t, w.Shutdown(t.Context()))
				fired.Add(int64(checkCounters(t, w).Fired))
			})
		}
		if round%2 == 0 { // while it is used
			wg.Go(func() {
				for range rand.IntN(1000) {
					runtime.Gosched()
				}
				p.Close()
				closed.Store(true)
			})
		}
		wg.Wait()
		p.Close()
		if n := came.Load() + fired.Load(); ran.Load() != n || now.Load() != 0 {
			t.Errorf("Overflow %d: %d have run, %d were taken", full, ran.Load(), n)
		}
		if p.busy != 0 || p.spilled != 0 || p.queue.n != 0 || p.offer(use, nil) {
			t.Errorf("%d busy, %d spilled, %d wait in a closed Pool", p.busy, p.spilled, p.queue.n)
		}
	}
}
