package wheel

import (
	"strconv"
	"testing"
	"time"
)

func TestNoOperationOnAKeyAllocates(t *testing.T) {
	t.Run("int", func(t *testing.T) { checkKeyAllocs(t, func(i int) int { return i }) })
	t.Run("string", func(t *testing.T) { checkKeyAllocs(t, func(i int) string { return "user:" + strconv.Itoa(i) }) })
	t.Run("any", func(t *testing.T) { checkKeyAllocs(t, func(i int) any { return i }) })
}

func checkKeyAllocs[K comparable](t *testing.T, key func(int) K) {
	const n, large = 10_000, 1 << 30 // an interface holds small values without memory
	k := NewKeyed(Config{MaxPending: 1 << 20}, func(K, int) {})
	defer k.Close()
	keys := make([]K, 2*n)
	for i := range keys {
		keys[i] = key(large + i)
	}
	for _, key := range keys[:n] {
		mustSet(t, k, key, time.Hour, 0, false)
	}
	i, at, start := 0, 0, time.Now().Add(time.Hour)
	operations := make(map[string]func())
	for name, do := range map[string]func(key, other K){
		"replace":     func(key, _ K) { _, _ = k.Set(key, time.Hour+time.Duration(i), large) },
		"SetAt":       func(key, _ K) { _, _ = k.SetAt(key, When{At: start.Add(time.Duration(i%3) * time.Hour)}, large) },
		"SetIfAbsent": func(key, _ K) { _, _ = k.SetIfAbsent(key, time.Hour, large) },
		"Move":        func(key, _ K) { k.Move(key, time.Hour-time.Duration(i%1000)*time.Second) },
		"Get":         func(key, _ K) { k.Get(key) },
		"Set, Remove": func(_, other K) { _, _ = k.Set(other, time.Hour, large); k.Remove(other) },
		"Remove, Set": func(key, _ K) { k.Remove(key); _, _ = k.Set(key, time.Hour, large) },
	} {
		operations[name] = func() {
			i, at = i+1, (at+7919)%n
			do(keys[at], keys[n+at])
		}
	}
	checkAllocs(t, 0, operations)
}

// go-zero keeps a removed timer until its slot is due.
func TestEndedKeysLeaveNothingBehind(t *testing.T) {
	k := NewKeyed(Config{Shards: 2, Run: Inline}, func(int, int) {})
	defer k.Close()
	n := memoryCount()
	for how, end := range map[string]func(){
		"removed": func() {
			for i := range n {
				k.Remove(i)
			}
		},
		"drained": func() {
			for range k.Drain() {
			}
		},
		"fired": func() {
			for i := range n {
				k.Move(i, 0)
			}
			for k.Len() > 0 {
				time.Sleep(time.Millisecond)
			}
		},
	} {
		checkNothingStays(t, how, func() {
			for i := range n {
				mustSet(t, k, i, time.Hour+time.Duration(i)*time.Second, i, false)
			}
			end()
		})
		checkKeys(t, k)
	}
}
