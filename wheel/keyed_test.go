package wheel

import (
	"fmt"
	"math"
	"strings"
	"sync"
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

// reading is a key with fields of all sorts. Each type of keys is compiled anew,
// so the tests share few.
type reading struct {
	value   float64
	sensor  string
	valid   bool
	names   [2]string
	pointer *int
	other   any
}

func TestKeysOfAnyComparableType(t *testing.T) {
	x := 1
	tryKeys(t, "", "a", "b", strings.Repeat("long", 100))
	tryKeys(t, 0, -1, math.MaxInt)
	tryKeys(t, reading{}, reading{value: 1}, reading{sensor: "a"}, reading{sensor: "b"}, reading{valid: true},
		reading{names: [2]string{"a", "b"}}, reading{names: [2]string{"ab", ""}},
		reading{pointer: &x}, reading{pointer: new(int)}, reading{other: 1}, reading{other: "1"})
	tryKeys[any](t, nil, 1, "1", 1.5, true, false, [2]string{"a", "b"}, reading{value: 1}, &x, new(int), (*int)(nil), [1]any{1}, struct{}{})
}

func tryKeys[K comparable](t *testing.T, keys ...K) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		fired := make(map[K]int)
		k := NewKeyed(Config{Shards: 4}, func(key K, v int) {
			mu.Lock()
			defer mu.Unlock()
			fired[key] += v
		})
		for i, key := range keys {
			mustSet(t, k, key, time.Duration(i+1)*time.Second, i, false)
			mustSet(t, k, key, time.Duration(i+1)*time.Second, i+100, true)
		}
		checkKeys(t, k)
		for i, key := range keys {
			if v, _, ok := k.Get(key); !ok || v != i+100 {
				t.Errorf("Get(%v) = %v, %v", key, v, ok)
			}
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		for i, key := range keys {
			if fired[key] != i+100 {
				t.Errorf("key %v fired with %d", key, fired[key])
			}
		}
		checkKeys(t, k)
	})
}

func TestZeroHasNoSignAsAKey(t *testing.T) {
	k := NewKeyed(Config{}, func(reading, int) {})
	defer k.Close()
	mustSet(t, k, reading{}, time.Hour, 1, false)
	mustSet(t, k, reading{value: math.Copysign(0, -1)}, time.Hour, 2, true)
	if v, ok := k.Remove(reading{}); !ok || v != 2 {
		t.Errorf("Remove = %v, %v", v, ok)
	}
}

func TestAKeyThatCannotBeComparedPanicsAndLeavesNothingBehind(t *testing.T) {
	k := NewKeyed(Config{Shards: 1, MaxPending: 1}, func(any, int) {})
	defer k.Close()
	for name, f := range map[string]func(key any){
		"Set":         func(key any) { _, _ = k.Set(key, time.Hour, 1) },
		"SetIfAbsent": func(key any) { _, _ = k.SetIfAbsent(key, time.Hour, 1) },
		"Move":        func(key any) { k.Move(key, time.Hour) },
		"Remove":      func(key any) { k.Remove(key) },
		"Get":         func(key any) { k.Get(key) },
	} {
		for _, key := range []any{[]int{1}, [1]any{[]int{1}}, struct {
			x float64
			y any
		}{math.NaN(), map[int]int{}}} {
			func() {
				defer func() {
					err, _ := recover().(error)
					if err == nil || !strings.Contains(err.Error(), "hash of unhashable type") {
						t.Errorf("%s: panic %v", name, err)
					}
				}()
				f(key)
			}()
		}
	}
	mustSet[any](t, k, 1, time.Hour, 1, false) // neither locked nor full
	checkKeys(t, k)
}
