package timing

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestALoadKeepsItsRateWhateverItMeets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		stop := InBackground(t.Context(), func(ctx context.Context) {
			AtRate(ctx, 100, func(int) {
				calls.Add(1)
				time.Sleep(3 * time.Second) // longer than the load lasts
			})
		})
		time.Sleep(2*time.Second - time.Millisecond)
		if n := calls.Load(); n != 200 {
			t.Errorf("%d calls in 2 s, want 200", n)
		}
		began := time.Now()
		stop()
		if took := time.Since(began); took < 2*time.Second {
			t.Errorf("it ended %v after it was stopped, before its calls had", took)
		}
	})
}

func TestALoadIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		stop := InBackground(t.Context(), func(ctx context.Context) {
			AtRate(ctx, 10_000, func(int) {
				calls.Add(1)
				time.Sleep(time.Minute)
			})
		})
		time.Sleep(time.Second)
		if n := calls.Load(); n != 1024 {
			t.Errorf("%d calls are under way, want 1024", n)
		}
		stop()
	})
}
