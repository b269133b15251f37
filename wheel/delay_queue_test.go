package wheel

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Takers give up and come back all the time, so tokens and rings of the alarm
// often wake one that is about to leave.
func TestEachElementOfADelayQueueIsTakenOnceWhenItIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, start := NewDelayQueue[time.Duration](), time.Now()
		const n = 2000
		end, stop := context.WithCancel(t.Context())
		var mu sync.Mutex
		taken := map[time.Duration]bool{} // by deadline
		var takers sync.WaitGroup
		for range 4 {
			takers.Go(func() {
				for end.Err() == nil {
					ctx, cancel := context.WithTimeout(end, rand.N(5*time.Millisecond))
					due, err := q.Take(ctx)
					cancel()
					if err != nil {
						continue
					}
					mu.Lock()
					if at := time.Since(start); taken[due] || at < due || at >= due+defaultTick {
						t.Errorf("the element due after %v was taken after %v; before: %t", due, at, taken[due])
					}
					taken[due] = true
					mu.Unlock()
				}
			})
		}
		removed := 0
		for k := range n {
			delay := rand.N(200 * time.Millisecond)
			due := time.Since(start) + delay
			if id := must(q.Put(delay, due)); k%5 == 0 {
				if _, ok := q.Remove(id); ok {
					removed++
				}
			}
			time.Sleep(time.Millisecond - 1)
		}
		time.Sleep(time.Second)
		stop()
		takers.Wait()
		if len(taken)+removed != n || q.Len() != 0 {
			t.Errorf("%d were taken and %d removed of %d; %d are left", len(taken), removed, n, q.Len())
		}
	})
}

func TestADueElementStaysInTheDelayQueueUntilItIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewDelayQueue[string]()
		last := must(q.Put(time.Second, "last"))
		first := must(q.Put(0, "first"))
		must(q.Put(time.Millisecond, "second"))
		time.Sleep(time.Hour)
		if v, ok := q.Remove(first); !ok || v != "first" || q.Len() != 2 {
			t.Errorf("Remove of a due element = %q, %t, and %d are left", v, ok, q.Len())
		}
		for _, want := range []string{"second", "last"} {
			if v, err := q.Take(t.Context()); err != nil || v != want {
				t.Errorf("Take = %q, %v, want %q", v, err, want)
			}
		}
		if v, ok := q.Remove(last); ok {
			t.Errorf("Remove of a taken element = %q", v)
		}
	})
}

func TestTakeEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewDelayQueue[int]()
		must(q.Put(maxDuration, 1)) // and the taker must sleep, not spin
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		if _, err := q.Take(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Take = %v", err)
		}
		must(q.Put(0, 2))
		if v, err := q.Take(ctx); err == nil {
			t.Errorf("Take took %d after the end of its context", v)
		}
	})
}
