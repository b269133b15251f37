package wheel

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestABatchCallbackMayUseItsWheel(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		var w *Wheel[int]
		var other ID
		var chained atomic.Int32
		w = NewBatch(cfg, func(batch []Expired[int]) {
			for _, e := range batch {
				switch e.Value {
				case 1:
					chained.Add(1)
					w.Add(0, 2)
					w.AddAt(time.Now(), 2)
				case 2:
					chained.Add(1)
				case 3:
					if w.Reset(e.ID, time.Second) || w.Extend(e.ID, time.Second) {
						t.Error("a timer that has fired was moved")
					}
					if !w.Reset(other, time.Second) || !w.Extend(other, time.Minute) {
						t.Error("Reset in a callback failed")
					}
				case 4:
					if _, ok := w.Remove(other); !ok {
						t.Error("Remove in a callback failed")
					}
				case 5:
					for range w.Drain() {
					}
					w.Close()
				default:
					t.Errorf("%d fired", e.Value)
				}
			}
		})
		other = w.Add(time.Hour, 99)
		for v := range 5 {
			w.Add(time.Duration(v)*time.Second, v+1)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if n := chained.Load(); n != 4 || w.Len() != 0 {
			t.Errorf("%d of the chain fired, %d are left", n, w.Len())
		}
		if err := w.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		checkCounters(t, w)
	})
}

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
		if err := w.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if s := checkCounters(t, w); s.Panics != 1 || s.Fired != n+1 {
			t.Errorf("%d panics, %d fired", s.Panics, s.Fired)
		}
	})
}
