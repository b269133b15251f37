package wheel

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// An Extend that must take the lock must not undo a longer Extend that came
// between its first read and its move.
func TestExtendNeverMovesADeadlineBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		w := New(Config{Shards: 1}, r.fire)
		id := w.Add(10*time.Second, 1)
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

func TestAnyTickAllowsAnySlack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tick := range []time.Duration{minTick, time.Hour, maxDuration/2 + 1, maxDuration} {
			w := New(Config{Tick: tick}, func(int) {})
			for _, slack := range []time.Duration{-1, 0, 1, time.Hour, maxDuration / 2, maxDuration} {
				if w.AddSlack(time.Second, slack, 1) == 0 {
					t.Errorf("tick %v, slack %v: zero ID", tick, slack)
				}
			}
			w.Close()
		}
	})
}

func TestLenIsNeverMoreThanMaxPending(t *testing.T) {
	const each, goroutines = 4, 8
	w := New(Config{Shards: 64, MaxPending: each * goroutines}, func(int) {})
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			var ids [each]ID
			for i := range raceOperations() / 40 {
				w.Remove(ids[i%each])
				ids[i%each] = w.Add(time.Hour, 0)
				if n := w.Len(); n > each*goroutines {
					t.Errorf("Len = %d", n)
					return
				}
			}
		})
	}
	wg.Wait()
	w.Close()
}
