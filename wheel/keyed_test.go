package wheel

import (
	"math"
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

// After the hand-over, Run cannot affect the key any more.
func TestADroppedCallbackLeavesNoKeyBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(PoolConfig{Workers: 1, Full: Drop})
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

// reading is a key with fields of all sorts.
type reading struct {
	value   float64
	sensor  string
	names   [2]string
	pointer *int
	other   any
}

// As in a map, keys of any comparable types are equal by ==, and so zero has no
// sign.
func TestKeysOfAnyComparableType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fired := make(map[any]int)
		k := NewKeyed(Config{Shards: 1, Run: Inline}, func(key any, v int) { fired[key] += v })
		x := 1
		keys := []any{
			nil, 1, "1", "", strings.Repeat("long", 100), 1.5, math.MaxInt, true, false, &x, new(int), (*int)(nil),
			[1]any{1},
			struct{}{},
			reading{},
			reading{value: 1},
			reading{sensor: "a"},
			reading{names: [2]string{"a", "b"}},
			reading{names: [2]string{"ab", ""}},
			reading{pointer: &x},
			reading{pointer: new(int)},
			reading{other: 1},
			reading{other: "1"},
		}
		for i, key := range keys {
			mustSet(t, k, key, time.Second, i, false)
			mustSet(t, k, key, time.Second, i+100, true)
		}
		mustSet[any](t, k, reading{value: math.Copysign(0, -1)}, time.Second, 1000, true)
		checkKeys(t, k)
		time.Sleep(time.Minute)
		synctest.Wait()
		for i, key := range keys {
			if want := i + 100; fired[key] != want && key != any(reading{}) {
				t.Errorf("key %v fired with %d, want %d", key, fired[key], want)
			}
		}
		if fired[reading{}] != 1000 || len(fired) != len(keys) {
			t.Errorf("%d keys fired, the zero one with %d", len(fired), fired[reading{}])
		}
	})
}

func TestAKeyThatCannotBeComparedPanicsAndLeavesNothingBehind(t *testing.T) {
	k := NewKeyed(Config{Shards: 1, MaxPending: 1}, func(any, int) {})
	defer k.Close()
	for name, f := range map[string]func(key any){
		"Set":         func(key any) { _, _ = k.Set(key, time.Hour, 1) },
		"SetAt":       func(key any) { _, _ = k.SetAt(key, When{After: time.Hour}, 1) },
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

func TestSetAtFollowsStepsOfTheWallClock(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		r := newRecorder()
		k := NewKeyed(cfg, func(_, v int) { r.fire(v) })
		clock := new(steppedClock)
		k.wheel.settings.wallNow = clock.now
		set := func(key int, when When, wantReplaced bool) {
			t.Helper()
			if replaced, err := k.SetAt(key, when, key); err != nil || replaced != wantReplaced {
				t.Errorf("SetAt(%d) = %v, %v", key, replaced, err)
			}
		}
		start := clock.now()
		for key := range 10 {
			mustSet(t, k, key, time.Hour, key, false)
			set(key, When{At: start.Add(2 * time.Hour)}, true) // to the wall clock
		}
		set(1, When{At: start.Add(30 * time.Minute)}, true)  // earlier
		set(2, When{At: start.Add(150 * time.Minute)}, true) // later
		k.Move(3, 2*time.Hour)                               // back to the monotonic clock
		mustSet(t, k, 4, 2*time.Hour, 4, true)
		set(5, When{After: 2 * time.Hour}, true)
		set(6, When{At: start.Add(-time.Hour)}, true) // in the past
		if _, left, ok := k.Get(0); !ok || left < 2*time.Hour || left > 2*time.Hour+tickOf(cfg) {
			t.Errorf("%v are left of 2h", left)
		}
		time.Sleep(time.Minute)
		clock.step(time.Hour) // 1 h 1 min have passed for the wall clock
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		want := map[int]time.Duration{
			0: time.Hour, 1: time.Minute, 2: 90 * time.Minute,
			3: 2 * time.Hour, 4: 2 * time.Hour, 5: 2 * time.Hour, 6: 0,
		}
		for _, f := range r.firings() {
			due, ok := want[f.v]
			if !ok {
				due = time.Hour
			}
			if late := f.at - due; late < 0 || late > tickOf(cfg) && (f.v != 1 || late > wallCheck) {
				t.Errorf("key %d fired after %v, want %v", f.v, f.at, due)
			}
		}
		if s := checkKeys(t, k); len(r.firings()) != 10 || s.Pending != 0 {
			t.Errorf("%d fired, %d pending", len(r.firings()), s.Pending)
		}
	})
}
