package wheel

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A full pool blocks the driver of a shard, and so it blocks Close. It must
// block nothing else, and Close stops the other shards before it waits.
func TestOnlyCloseBlocksOnAClosingWheel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		admitted := make(chan struct{})
		var handed atomic.Int32
		w := New(Config{Shards: 2, Run: runnerOf(func(f func()) { handed.Add(1); <-admitted; f() })}, func(int) {})
		addTo(w.shards[0], time.Second, 1)
		addTo(w.shards[1], time.Minute, 3)
		id := must(w.Add(time.Hour, 2))
		time.Sleep(2 * time.Second)
		var closed atomic.Int32
		for range 3 {
			go func() {
				w.Close()
				closed.Add(1)
			}()
		}
		time.Sleep(time.Hour)
		if handed.Load() != 1 {
			t.Errorf("%d handed over, one of them after Close had begun", handed.Load())
		}
		// If one of these blocked, the bubble would be deadlocked.
		for _, when := range []When{{}, {Slack: 1}, {At: time.Now()}} {
			if id, err := w.AddAt(when, 4); id != 0 || !errors.Is(err, ErrClosed) {
				t.Errorf("AddAt = %x, %v", id, err)
			}
		}
		if id, err := w.Add(0, 4); id != 0 || !errors.Is(err, ErrClosed) {
			t.Errorf("Add = %x, %v", id, err)
		}
		if w.Reset(id, 0) || w.Extend(id, 2*time.Hour) {
			t.Error("a closing wheel moved a timer")
		}
		if v, _, ok := w.Get(id); !ok || v != 2 {
			t.Errorf("Get = %d, %v", v, ok)
		}
		if v, ok := w.Remove(id); !ok || v != 2 {
			t.Errorf("Remove = %d, %v", v, ok)
		}
		n := 0
		for _, v := range w.Drain() {
			if n++; v != 3 {
				t.Errorf("drained %d", v)
			}
		}
		if _, ok := untilNext(w); n != 1 || w.Len() != 0 || ok || closed.Load() != 0 {
			t.Errorf("%d drained, %d left, %d closed", n, w.Len(), closed.Load())
		}
		close(admitted)
		synctest.Wait()
		if closed.Load() != 3 {
			t.Errorf("%d of 3 have closed", closed.Load())
		}
		checkCounters(t, w)
	})
}

// A timer that was added is pending or fired after a concurrent Close; a timer
// that was refused is neither. Nothing is handed over after Close.
func TestCloseDuringAddExpiryDrainAndClose(t *testing.T) {
	for range 30 {
		const adders, each = 4, 500
		f := newFates(t, adders*each)
		var wg sync.WaitGroup
		var added, late atomic.Int64
		var closed atomic.Bool
		w := New(Config{Shards: 2, Tick: minTick, Run: runnerOf(func(call func()) {
			if closed.Load() {
				late.Add(1)
			}
			Go.Run(call)
		})}, f.fire)
		begin := make(chan struct{})
		for a := range adders {
			wg.Go(func() {
				<-begin
				for i := range each {
					v := a*each + i
					switch id, err := w.Add(time.Duration(i%5)*minTick, v); {
					case id != 0 && err == nil:
						added.Add(1)
					case id == 0 && errors.Is(err, ErrClosed):
						f.end(v, fateRefused)
					default:
						t.Errorf("Add = %x, %v", id, err)
					}
				}
			})
		}
		for k := range 3 {
			wg.Go(func() {
				<-begin
				time.Sleep(time.Duration(k) * 100 * time.Microsecond)
				w.Close()
				closed.Store(true)
				for _, v := range w.Drain() {
					f.end(v, fateDrained)
				}
			})
		}
		close(begin)
		wg.Wait()
		noError(t, w.Shutdown(t.Context()))
		if s := checkCounters(t, w); s.Added != uint64(added.Load()) || s.Pending != 0 || late.Load() != 0 {
			t.Errorf("%d of %d added, %d pending, %d handed over after Close", s.Added, added.Load(), s.Pending, late.Load())
		}
		f.check(w.Stats())
	}
}

// tokio#6683: the goroutine that removes the last timer, and the one that adds
// the first, meet the wake-up that was set for another timer.
func TestNoWakeUpIsLostWhenTheWheelRunsEmpty(t *testing.T) {
	for _, workers := range []int{1, 2, 8} {
		fired := make([]chan struct{}, workers)
		w := New(Config{Shards: 1, Tick: minTick, Run: Inline}, func(v int) { fired[v] <- struct{}{} })
		var wg sync.WaitGroup
		for v := range workers {
			fired[v] = make(chan struct{}, 1)
			wg.Go(func() {
				var e edge
				for i := range raceOperations() / 800 / max(1, workers/2) {
					id := must(w.Add(minTick, v))
					e.wait()
					_, removed := w.Remove(id)
					if e.judge(removed); removed {
						must(w.Add(time.Duration(i%3)*minTick, v))
					}
					select {
					case <-fired[v]:
					case <-time.After(time.Minute):
						t.Errorf("round %d: a timer never fired", i)
						return
					}
				}
			})
		}
		wg.Wait()
		w.Close()
		checkCounters(t, w)
	}
}

// tokio#6683 again: a new earliest timer is added while a pass is about to arm
// the driver for a distant one.
func TestANewEarliestTimerIsNotForgottenAtTheEndOfAPass(t *testing.T) {
	fired := make(chan struct{}, 1)
	w := New(Config{Shards: 1, Tick: minTick}, func(v int) {
		if v == 1 {
			fired <- struct{}{}
		}
	})
	defer w.Close()
	far := must(w.Add(time.Hour, 0))
	var e edge
	for i := range raceOperations() / 800 {
		id := must(w.Add(minTick, 0)) // makes a pass; its end arms the driver for an hour
		e.wait()
		_, _, pending := w.Get(id)
		must(w.Add(0, 1))
		e.judge(pending)
		select {
		case <-fired:
		case <-time.After(time.Minute):
			t.Fatalf("round %d: a timer never fired", i)
		}
	}
	if _, ok := w.Remove(far); !ok {
		t.Error("the far one has gone")
	}
}
