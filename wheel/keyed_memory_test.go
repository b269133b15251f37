package wheel

import (
	"runtime"
	"strconv"
	"testing"
	"time"
)

func intKey(i int) int       { return int(uint64(i) * 0x9E3779B97F4A7C15) }
func stringKey(i int) string { return "user:" + strconv.Itoa(1_000_000+i) }

func TestNoOperationOnAKeyAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	t.Run("int", func(t *testing.T) { checkKeyAllocs(t, intKey) })
	t.Run("string", func(t *testing.T) { checkKeyAllocs(t, stringKey) })
	t.Run("any", func(t *testing.T) { checkKeyAllocs(t, func(i int) any { return i }) })
}

func checkKeyAllocs[K comparable](t *testing.T, key func(int) K) {
	const n, large = 10_000, 1 << 30 // an interface holds small values without memory
	k := NewKeyed(Config{MaxPending: 1 << 20}, func(K, int) {})
	defer k.Close()
	keys := make([]K, 2*n)
	for i := range keys {
		keys[i] = key(i)
	}
	for _, key := range keys[:n] {
		mustSet(t, k, key, time.Hour, 0, false)
	}
	i, at := 0, 0
	for name, f := range map[string]func(key, other K){
		"replace":     func(key, _ K) { _, _ = k.Set(key, time.Hour+time.Duration(i), large) },
		"SetIfAbsent": func(key, _ K) { _, _ = k.SetIfAbsent(key, time.Hour, large) },
		"Move":        func(key, _ K) { k.Move(key, time.Hour-time.Duration(i%1000)*time.Second) },
		"Get":         func(key, _ K) { k.Get(key) },
		"Set, Remove": func(_, other K) { _, _ = k.Set(other, time.Hour, large); k.Remove(other) },
		"Remove, Set": func(key, _ K) { k.Remove(key); _, _ = k.Set(key, time.Hour, large) },
	} {
		run := func() {
			i, at = i+1, (at+7919)%n
			f(keys[at], keys[n+at])
		}
		for range 2 * n { // until the lists and segments have their length
			run()
		}
		if n := testing.AllocsPerRun(5000, run); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// go-zero keeps a removed timer until its slot is due.
func TestMemoryReturnsAfterAMillionKeys(t *testing.T) {
	n := 1_000_000
	if raceEnabled || testing.Short() {
		n = 30_000
	}
	ends := map[string]func(k *Keyed[int, int]){
		"removed": func(k *Keyed[int, int]) {
			for i := range n {
				k.Remove(intKey(i))
			}
		},
		"drained": func(k *Keyed[int, int]) {
			for range k.Drain() {
			}
		},
		"fired": func(k *Keyed[int, int]) {
			for i := range n {
				k.Move(intKey(i), 0)
			}
			for k.Len() > 0 {
				time.Sleep(time.Millisecond)
			}
		},
	}
	for how, end := range ends {
		k := NewKeyed(Config{Shards: 2, Run: Inline}, func(int, int) {})
		before := heapInUse()
		for i := range n {
			mustSet(t, k, intKey(i), time.Hour+time.Duration(i)*time.Second, i, false)
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
	k := NewKeyed(Config{Shards: 1}, func(struct{}, *[16]byte) {})
	defer k.Close()
	gone := make(chan struct{})
	func() {
		v := new([16]byte)
		runtime.AddCleanup(v, func(int) { close(gone) }, 0)
		mustSet(t, k, struct{}{}, time.Hour, v, false)
	}()
	mustSet(t, k, struct{}{}, time.Hour, nil, true)
	select {
	case <-gone:
	case <-collecting():
		t.Error("a value is kept")
	}
}
