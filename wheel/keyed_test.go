package wheel

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// keyFirings is a callback of a Keyed that records the key, the value and the
// time of each call, in the form "key value at".
type keyFirings struct{ *recorder }

func newKeyFirings() keyFirings { return keyFirings{newRecorder()} }

// fire accepts keys below 1000.
func (r keyFirings) fire(key, v int) { r.recorder.fire(1000*v + key) }

func (r keyFirings) expect(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, f := range r.firings() {
		got = append(got, fmt.Sprintf("%d=%d at %v", f.v%1000, f.v/1000, f.at))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("fired %q, want %q", got, want)
	}
}

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

// A timer belongs to its key until it is handed over, even if it is overdue.
func TestAKeyThatIsDueCanStillBeReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newKeyFirings()
		k := NewKeyed(Config{Shards: 1, Run: Inline}, func(key, v int) {
			r.fire(key, v)
			time.Sleep(time.Second)
		})
		mustSet(t, k, 0, time.Second, 1, false) // keeps the driver busy
		for key := 1; key <= 4; key++ {
			mustSet(t, k, key, 1500*time.Millisecond, 1, false)
		}
		time.Sleep(1900 * time.Millisecond)
		if v, left, ok := k.Get(1); !ok || left != 0 || v != 1 {
			t.Errorf("Get = %v, %v, %v", v, left, ok)
		}
		mustSet(t, k, 1, time.Minute, 2, true)
		if !k.Move(2, time.Hour) {
			t.Error("Move = false")
		}
		if _, ok := k.Remove(3); !ok {
			t.Error("Remove = false")
		}
		time.Sleep(2 * time.Hour)
		r.expect(t, "0=1 at 1s", "4=1 at 2s", "1=2 at 1m1.9s", "2=1 at 1h0m1.9s")
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
		if err := k.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
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
