package wheel

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/fatal"
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
			fatal.If(t, series.Load().StopWait(t.Context()))
			if n := timers.Len(); n != 0 {
				t.Fatalf("%d pending after StopWait", n)
			}
			series.Load().Reset(time.Millisecond)
			time.Sleep(3*time.Millisecond + 7*time.Microsecond)
		}
		series.Load().Kill()
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
