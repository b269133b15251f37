package wheel

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

// package time promises that f runs on another goroutine, for every delay. Here
// the caller holds the lock that f needs.
func TestAddNeverRunsTheCallbackItself(t *testing.T) {
	for _, run := range []Runner{Go, Inline} {
		var mu sync.Mutex
		ran := make(chan int)
		w := New(Config{Run: run}, func(v int) {
			mu.Lock()
			defer mu.Unlock()
			ran <- v
		})
		mu.Lock()
		must(w.Add(0, 1))
		must(w.AddAt(When{After: -1, Slack: time.Hour}, 1))
		must(w.AddAt(When{}, 1))
		w.Reset(must(w.Add(time.Hour, 1)), 0)
		mu.Unlock()
		for range 4 {
			<-ran
		}
		noError(t, w.Shutdown(t.Context()))
	}
}

// Callbacks that add a timer due at once, which do the same, must not keep other
// timers from firing.
func TestEndlessChainsOfAnyKindStarveNoTimer(t *testing.T) {
	const chains = 100
	for name, again := range map[string]func(*Wheel[int]){
		"Add":      func(w *Wheel[int]) { _, _ = w.Add(0, 0) },                           // refused after Shutdown
		"negative": func(w *Wheel[int]) { _, _ = w.Add(-time.Hour, 0) },                  // refused after Shutdown
		"AddAt":    func(w *Wheel[int]) { _, _ = w.AddAt(When{At: time.Unix(1, 0)}, 0) }, // refused after Shutdown
	} {
		for _, run := range []Runner{Inline, Go} {
			done := make(chan struct{}, 3)
			var w *Wheel[int]
			w = NewBatch(Config{Shards: 1, Run: run}, func(batch []Expired[int]) {
				for _, e := range batch {
					if e.Value == 0 {
						again(w)
						continue
					}
					done <- struct{}{}
				}
			})
			for range chains {
				again(w)
			}
			must(w.Add(20*time.Millisecond, 1))
			must(w.AddAt(When{At: time.Now().Add(20 * time.Millisecond)}, 1))
			w.Reset(must(w.Add(time.Hour, 1)), 20*time.Millisecond)
			for range 3 {
				select {
				case <-done:
				case <-time.After(time.Minute):
					t.Errorf("%s: starved", name)
				}
			}
			fatal.If(t, w.Shutdown(t.Context()))
		}
	}
}

// The default Runner has a goroutine for each callback: no callback waits for
// another.
func TestABlockedCallbackDelaysNoOtherByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		w := New(Config{Shards: 1}, func(v int) {
			r.fire(v)
			time.Sleep(time.Hour)
		})
		batches := NewBatch(Config{Shards: 1}, func(batch []Expired[int]) {
			r.fire(batch[0].Value)
			time.Sleep(time.Hour)
		})
		for v := range 100 {
			must(w.Add(time.Duration(v)*time.Millisecond, v))
			must(batches.Add(time.Duration(v)*time.Millisecond, v))
		}
		time.Sleep(time.Second)
		if n := len(r.firings()); n != 200 {
			t.Errorf("%d fired", n)
		}
		for _, f := range r.firings() {
			if f.at != time.Duration(f.v)*time.Millisecond {
				t.Errorf("%d fired at %v", f.v, f.at)
			}
		}
		time.Sleep(2 * time.Hour)
	})
}
