package wheel

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

func TestStopWaitEndsASeriesThatResetsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := NewTimers(Config{MaxPending: 1})
		var series atomic.Pointer[Timer]
		series.Store(timers.Every(time.Millisecond, func() {
			time.Sleep(time.Millisecond)
			series.Load().Reset(1)
		}, EveryOptions{}))
		time.Sleep(10*time.Millisecond + time.Microsecond)
		for range 100 {
			if err := series.Load().StopWait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := timers.Len(); n != 0 {
				t.Fatalf("%d pending after StopWait", n)
			}
			series.Load().Reset(time.Millisecond)
			time.Sleep(3*time.Millisecond + 7*time.Microsecond)
		}
		series.Load().Kill()
	})
}

func TestAKeyThatChangesHarmsNoOther(t *testing.T) {
	for _, others := range []int{0, 5000} {
		synctest.Test(t, func(t *testing.T) {
			var fired atomic.Int64
			k := NewKeyed(Config{Shards: 1}, func(string, int) { fired.Add(1) })
			bytes := []byte("hello")
			if _, err := k.Set(unsafe.String(&bytes[0], len(bytes)), time.Second, 1); err != nil {
				t.Fatal(err)
			}
			for i := range others {
				if _, err := k.Set(fmt.Sprint(i), time.Hour, i); err != nil {
					t.Fatal(err)
				}
			}
			sh := k.wheel.shards[0]
			sh.mu.Lock() // for the race detector
			bytes[0] = 'j'
			sh.mu.Unlock()
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if fired.Load() != 1 || k.Len() != others {
				t.Errorf("fired %d, %d pending", fired.Load(), k.Len())
			}
			for i := range others {
				if v, ok := k.Remove(fmt.Sprint(i)); !ok || v != i {
					t.Fatalf("key %d is gone", i)
				}
			}
			for i := range k.indexes[0] {
				if used := k.indexes[0][i].used; used != 0 {
					t.Errorf("%d tags are left", used)
				}
			}
		})
	}
}

func TestAScheduleThatExitsInARefusedRunCountsAsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := NewPool(1, 0, Drop)
		timers := NewTimers(Config{Run: pool, Shards: 1})
		hold := make(chan struct{})
		timers.AfterFunc(0, func() { <-hold })
		synctest.Wait()
		var asked atomic.Bool
		timers.ScheduleFunc(func(after time.Time) time.Time { // has one instant
			if asked.Swap(true) {
				runtime.Goexit()
			}
			return after.Add(time.Millisecond)
		}, func() {})
		time.Sleep(time.Second)
		close(hold)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := timers.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if s := timers.Stats(); s.Fired != 1 || s.Dropped != 1 {
			t.Errorf("fired %d, dropped %d", s.Fired, s.Dropped)
		}
	})
}

// A hook that blocks stands for very many derived contexts.
func TestADeadlineWhoseContextsEndSlowlyDelaysNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := NewTimers(Config{Shards: 1})
		ctx, cancel := timers.WithTimeout(t.Context(), time.Second)
		defer cancel()
		hold := make(chan struct{})
		slow := ctx.(*deadlineCtx)
		hook := slow.source.hook
		slow.source.hook = func() { <-hold; hook() }
		var fired atomic.Bool
		timers.AfterFunc(time.Second+time.Millisecond, func() { fired.Store(true) })
		time.Sleep(time.Second + 2*time.Millisecond)
		synctest.Wait()
		if !fired.Load() {
			t.Error("the timer after the deadline waits")
		}
		close(hold)
		<-ctx.Done()
	})
}
