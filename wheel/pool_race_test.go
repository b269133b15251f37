package wheel

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Every function that a Pool accepts runs once, and never too many at the same
// time. Wheels open, fire and close, other goroutines call Run, and functions
// call Goexit.
func TestAPoolLosesNothingUnderContention(t *testing.T) {
	for _, full := range []Overflow{Block, Drop, Spill} {
		const workers = 3
		p := NewPool(workers, 5, full)
		var came, ran, now, fired atomic.Int64
		use := func() {
			if n := now.Add(1); n > workers && full != Spill {
				t.Errorf("%d at a time", n)
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
				for range raceOperations() / 100 {
					if p.offer(use, nil) {
						came.Add(1)
					}
				}
			})
			wg.Go(func() {
				for range 20 {
					w := New(Config{Shards: 2, Tick: minTick, Run: p}, func(int) { use() })
					for range raceOperations() / 2000 {
						w.Add(time.Duration(rand.IntN(int(2*time.Millisecond))), 1)
					}
					time.Sleep(time.Duration(rand.IntN(int(2 * time.Millisecond))))
					noError(t, w.Shutdown(t.Context()))
					fired.Add(int64(checkCounters(t, w).Fired))
				}
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

// Close of the Pool races against Run: each function is either refused, or runs
// before Close returns.
func TestNothingRunsAfterAPoolsClose(t *testing.T) {
	for range 200 {
		p := NewPool(2, 1, Block)
		var closed atomic.Bool
		var came, ran atomic.Int64
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 50 {
					taken := p.offer(func() {
						if ran.Add(1); closed.Load() {
							t.Error("ran after Close")
						}
					}, nil)
					if taken {
						came.Add(1)
					}
				}
			})
		}
		for range 2 {
			wg.Go(func() {
				for range rand.IntN(1000) {
					runtime.Gosched()
				}
				p.Close()
				closed.Store(true)
			})
		}
		wg.Wait()
		if came.Load() != ran.Load() {
			t.Fatalf("%d taken, %d ran", came.Load(), ran.Load())
		}
	}
}
