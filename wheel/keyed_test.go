package wheel

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func mustSet[K comparable, V any](t *testing.T, k *Keyed[K, V], key K, d time.Duration, v V, wantReplaced bool) {
	t.Helper()
	if replaced, err := k.Set(key, d, v); err != nil || replaced != wantReplaced {
		t.Errorf("Set(%v, %v) = %v, %v, want %v", key, v, replaced, err, wantReplaced)
	}
}

// godis deletes the entry of a key after its job has run, even if the job has
// added the key again.
func TestAKeySetDuringItsOwnFiringIsANewTimer(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		var k *Keyed[int, int]
		var fired atomic.Int32
		k = NewKeyed(cfg, func(key, v int) {
			fired.Add(1)
			if v < 3 {
				mustSet(t, k, key, time.Second, v+1, false)
				mustSet(t, k, key, time.Second, v+1, true)
				time.Sleep(100 * time.Millisecond) // the old timer ends after this
			}
		})
		for key := range 10 {
			mustSet(t, k, key, time.Second, 0, false)
		}
		time.Sleep(2500 * time.Millisecond) // the third has just been set
		for key := range 5 {
			if v, ok := k.Remove(key); !ok || v != 2 {
				t.Errorf("Remove(%d) = %v, %v", key, v, ok)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if fired.Load() != 5*2+5*4 || k.Len() != 0 {
			t.Errorf("%d fired, %d pending", fired.Load(), k.Len())
		}
		checkKeys(t, k)
	})
}

// After the hand-over, Run cannot affect the key any more.
func TestADroppedCallbackLeavesNoKeyBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(1, 0, Drop)
		var ran atomic.Int32
		k := NewKeyed(Config{Shards: 2, Run: p}, func(int, int) {
			time.Sleep(time.Minute)
			ran.Add(1)
		})
		for key := range 10 {
			mustSet(t, k, key, time.Second, 1, false)
		}
		time.Sleep(2 * time.Second)
		for key := range 10 {
			mustSet(t, k, key, time.Hour, 2, false)
		}
		noError(t, k.Shutdown(t.Context()))
		if s := checkKeys(t, k); s.Dropped != 9 || ran.Load() != 1 || s.Pending != 10 {
			t.Errorf("%d dropped, %d ran, %d pending", s.Dropped, ran.Load(), s.Pending)
		}
	})
}

func TestNewKeyedRefusesInvalidArguments(t *testing.T) {
	for _, f := range []func(){
		func() { NewKeyed[int, int](Config{}, nil) },
		func() { NewKeyed(Config{Tick: 1}, func(int, int) {}) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "wheel: ") {
					t.Errorf("panic %q", got)
				}
			}()
			f()
		}()
	}
}
