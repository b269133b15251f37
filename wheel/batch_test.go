package wheel

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAPanicLosesOnlyTheRestOfItsBatch(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		const n = 10 * batchSize
		var told, ran atomic.Int64
		cfg.OnPanic = func(any, []byte) { told.Add(1) }
		w := NewBatch(cfg, func(batch []Expired[int]) {
			for _, e := range batch {
				if e.Value == n/2 {
					panic("one of many")
				}
				ran.Add(1)
			}
		})
		for i := range n {
			w.Add(time.Second, i)
		}
		w.Add(2*time.Second, n)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if told.Load() != 1 || ran.Load() < n-batchSize {
			t.Errorf("%d panics reported, %d of %d ran", told.Load(), ran.Load(), n)
		}
		noError(t, w.Shutdown(t.Context()))
		if s := checkCounters(t, w); s.Panics != 1 || s.Fired != n+1 {
			t.Errorf("%d panics, %d fired", s.Panics, s.Fired)
		}
	})
}
