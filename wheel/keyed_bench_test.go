package wheel

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"
	"time"
)

func intKey(i int) int       { return int(uint64(i) * 0x9E3779B97F4A7C15) }
func stringKey(i int) string { return "user:" + strconv.Itoa(1_000_000+i) }

// BenchmarkKeyed runs each operation on random keys while many are pending.
func BenchmarkKeyed(b *testing.B) {
	b.Run("string/Replace", func(b *testing.B) {
		benchmarkKeyed(b, stringKey, func(k *Keyed[string, int], key, _ string, d time.Duration) { _, _ = k.Set(key, d, 2) })
	})
	for name, operate := range map[string]func(k *Keyed[int, int], key, other int, d time.Duration){
		"Replace": func(k *Keyed[int, int], key, _ int, d time.Duration) { _, _ = k.Set(key, d, 2) },
		"PutOff":  func(k *Keyed[int, int], key, _ int, _ time.Duration) { k.Move(key, time.Hour) },
		"Move":    func(k *Keyed[int, int], key, _ int, d time.Duration) { k.Move(key, d) },
		"SetRemove": func(k *Keyed[int, int], _, other int, d time.Duration) {
			_, _ = k.Set(other, d, 2)
			k.Remove(other)
		},
		"RemoveSet": func(k *Keyed[int, int], key, _ int, d time.Duration) {
			k.Remove(key)
			_, _ = k.Set(key, d, 2)
		},
	} {
		b.Run("int/"+name, func(b *testing.B) { benchmarkKeyed(b, intKey, operate) })
	}
}

func benchmarkKeyed[K comparable](b *testing.B, key func(int) K, operate func(k *Keyed[K, int], key, other K, d time.Duration)) {
	ds := delays()
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			keys := make([]K, 2*n) // the second half are not pending
			for i := range keys {
				keys[i] = key(i)
			}
			k, r := NewKeyed(Config{}, func(K, int) {}), newRand()
			defer k.Close()
			for i := range n {
				_, _ = k.Set(keys[i], someDelay(r), 1)
			}
			runtime.GC()
			b.ReportAllocs()
			defer reportCPU(b)()
			i := 0
			for b.Loop() {
				at := r.IntN(n)
				operate(k, keys[at], keys[n+at], ds[i&(len(ds)-1)])
				i++
			}
		})
	}
}

func BenchmarkKeyedParallel(b *testing.B) {
	const n = 1_000_000
	k := NewKeyed(Config{}, func(int, int) {})
	defer k.Close()
	for i := range n {
		_, _ = k.Set(intKey(i), time.Hour, 1)
	}
	runtime.GC()
	b.SetParallelism(64 / runtime.GOMAXPROCS(0))
	b.ReportAllocs()
	defer reportCPU(b)()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_, _ = k.Set(intKey(rand.IntN(n)), time.Hour, 2)
		}
	})
}
