package wheel

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A program may make a wheel in a bubble, use it, and forget it with timers
// pending and without a Close. If a goroutine were left when the bubble ends,
// or if code outside the bubble stopped a timer, the process would end.
// go-deadlock#41 is about a library with a global timer, which fails here.
func TestUnclosedWheelsAndTimersDoNotHoldABubble(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			fired := make(chan int, 100)
			w := New(Config{}, func(v int) { fired <- v })
			must(w.Add(time.Second, 1))
			must(w.Add(time.Hour, 1))
			must(w.AddAt(When{At: time.Now().Add(time.Hour)}, 1))

			k := NewKeyed(Config{}, func(int, int) { fired <- 2 })
			_, _ = k.Set(1, time.Second, 1)
			_, _ = k.Set(2, time.Hour, 2)

			timers := new(Timers)
			timers.AfterFunc(time.Second, func() { fired <- 3 })
			timers.AfterFunc(time.Hour, func() {})
			timers.NewTimer(time.Hour)
			timers.NewTicker(time.Hour)
			timers.Every(time.Hour, func() {}, EveryOptions{})
			ctx, cancel := timers.WithTimeout(context.Background(), time.Second)
			defer cancel()
			<-ctx.Done()
			<-timers.After(time.Second)

			NewPool(PoolConfig{Workers: 2, Queue: 2}).Run(func() { fired <- 4 })
			if synctest.Wait(); len(fired) != 4 {
				t.Errorf("%d fired, want 4", len(fired))
			}
		})
		runtime.GC()
	}
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
					must(w.Add(0, v+1))
				}
			})
			must(w.Add(0, 1))
		}
		if synctest.Wait(); fired.Load() != chains*links {
			t.Errorf("%d of %d fired", fired.Load(), chains*links)
		}
	})
}
