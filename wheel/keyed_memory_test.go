package wheel

import (
	"runtime"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/quick"
)

func TestNoOperationOnAKeyAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	t.Run("uint64", func(t *testing.T) { checkKeyAllocs(t, uint64Key) })
	t.Run("string", func(t *testing.T) { checkKeyAllocs(t, stringKey) })
	t.Run("any", func(t *testing.T) { checkKeyAllocs(t, func(i int) any { return uint64(i) }) })
}

func checkKeyAllocs[K comparable](t *testing.T, key func(int) K) {
	const n = 10_000
	k := NewKeyed(Config{MaxPending: 1 << 20}, func(K, [2]uint64) {})
	defer k.Close()
	keys := make([]K, 2*n)
	for i := range keys {
		keys[i] = key(i)
	}
	for _, key := range keys[:n] {
		mustSet(t, k, key, time.Hour, [2]uint64{}, false)
	}
	i, at := 0, 0
	for name, f := range map[string]func(key, other K){
		"replace":     func(key, _ K) { _, _ = k.Set(key, time.Hour+time.Duration(i), [2]uint64{1}) },
		"SetIfAbsent": func(key, _ K) { _, _ = k.SetIfAbsent(key, time.Hour, [2]uint64{1}) },
		"Move":        func(key, _ K) { k.Move(key, time.Hour-time.Duration(i%1000)*time.Second) },
		"Get":         func(key, _ K) { k.Get(key) },
		"Set, Remove": func(_, other K) { _, _ = k.Set(other, time.Hour, [2]uint64{1}); k.Remove(other) },
		"Remove, Set": func(key, _ K) { k.Remove(key); _, _ = k.Set(key, time.Hour, [2]uint64{1}) },
	} {
		run := func() {
			i, at = i+1, (at+7919)%n
			f(keys[at], keys[n+at])
		}
		for range 50_000 { // until the lists and segments have their length
			run()
		}
		if n := testing.AllocsPerRun(5000, run); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// go-zero keeps a removed timer until its slot is due.
func TestMemoryReturnsAfterAMillionKeys(t *testing.T) {
	quick.Leave(t, "makes a million keys")
	n := 1_000_000
	if raceEnabled {
		n = 30_000
	}
	ends := map[string]func(k *Keyed[uint64, [4]uint64]){
		"removed": func(k *Keyed[uint64, [4]uint64]) {
			for i := range n {
				k.Remove(uint64Key(i))
			}
		},
		"drained": func(k *Keyed[uint64, [4]uint64]) {
			for range k.Drain() {
			}
		},
		"fired": func(k *Keyed[uint64, [4]uint64]) {
			for i := range n {
				k.Move(uint64Key(i), 0)
			}
			for k.Len() > 0 {
				time.Sleep(time.Millisecond)
			}
		},
	}
	for how, end := range ends {
		k := NewKeyed(Config{Shards: 2, Run: Inline}, func(uint64, [4]uint64) {})
		before := heapInUse()
		for i := range n {
			mustSet(t, k, uint64Key(i), time.Hour+time.Duration(i)*time.Second, [4]uint64{}, false)
		}
		end(k)
		if after := heapInUse(); after > before+512<<10 {
			t.Errorf("%s: %d kB more than before", how, (after-before)>>10)
		}
		checkKeys(t, k)
		runtime.KeepAlive(k)
	}
}

func TestAReplacedValueIsNotKept(t *testing.T) {
	k := NewKeyed(Config{Shards: 1}, func(string, *[16]byte) {})
	defer k.Close()
	gone := make(chan struct{})
	func() {
		v := new([16]byte)
		runtime.AddCleanup(v, func(int) { close(gone) }, 0)
		mustSet(t, k, "a", time.Hour, v, false)
	}()
	mustSet(t, k, "a", time.Hour, nil, true)
	select {
	case <-gone:
	case <-collecting():
		t.Error("a value is kept")
	}
}

func TestAForgottenEmptyKeyedIsCollected(t *testing.T) {
	gone := make(chan struct{})
	func() {
		k := NewKeyed(Config{Shards: 2}, func(int, int) {})
		runtime.AddCleanup(k, func(int) { close(gone) }, 0)
		for key := range 100 {
			mustSet(t, k, key, time.Hour, 1, false)
		}
		for key := range 100 {
			k.Remove(key)
		}
	}()
	select {
	case <-gone:
	case <-collecting():
		t.Error("not collected")
	}
}
