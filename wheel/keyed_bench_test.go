package wheel

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"
)

// The benchmarks compare Keyed with the code that it replaces: a map of package
// time's timers behind a mutex.

// keyedTimers is the interface that the benchmarks use for both.
type keyedTimers[K comparable] interface {
	set(key K, v int, d time.Duration)
	move(key K, d time.Duration)
	remove(key K)
	end()
}

type byKeyed[K comparable] struct{ *Keyed[K, int] }

func newByKeyed[K comparable]() keyedTimers[K] {
	return byKeyed[K]{NewKeyed(Config{}, func(K, int) {})}
}

func (k byKeyed[K]) set(key K, v int, d time.Duration) { _, _ = k.Set(key, d, v) }
func (k byKeyed[K]) move(key K, d time.Duration)       { k.Move(key, d) }
func (k byKeyed[K]) remove(key K)                      { k.Remove(key) }
func (k byKeyed[K]) end()                              { k.Close() }

// byMap is the smallest correct solution: the callback removes its entry, if
// the entry is still its own.
type byMap[K comparable] struct {
	mu     sync.Mutex // guards timers
	timers map[K]*mapTimer
}

type mapTimer struct {
	timer *time.Timer
	v     int
}

func newByMap[K comparable]() keyedTimers[K] { return &byMap[K]{timers: make(map[K]*mapTimer)} }

func (m *byMap[K]) set(key K, v int, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.timers[key]; t != nil && t.timer.Stop() {
		t.v = v
		t.timer.Reset(d)
		return
	}
	t := &mapTimer{v: v}
	t.timer = time.AfterFunc(d, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.timers[key] == t {
			delete(m.timers, key)
		}
	})
	m.timers[key] = t
}

func (m *byMap[K]) move(key K, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.timers[key]; t != nil && t.timer.Stop() {
		t.timer.Reset(d)
	}
}

func (m *byMap[K]) remove(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.timers[key]; t != nil && t.timer.Stop() {
		delete(m.timers, key)
	}
}

func (m *byMap[K]) end() {
	for key := range m.timers {
		m.remove(key)
	}
}

func intKey(i int) int       { return int(uint64(i) * 0x9E3779B97F4A7C15) }
func stringKey(i int) string { return "user:" + strconv.Itoa(1_000_000+i) }

// benchmarkKeyed runs one operation on random keys while n keys are pending.
func benchmarkKeyed[K comparable](b *testing.B, key func(int) K, operate func(m keyedTimers[K], key, other K, d time.Duration)) {
	ds := delays()
	for _, n := range []int{1_000, 1_000_000} {
		keys := make([]K, 2*n) // the second half are not pending
		for i := range keys {
			keys[i] = key(i)
		}
		for name, open := range map[string]func() keyedTimers[K]{"keyed": newByKeyed[K], "map": newByMap[K]} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				m := open()
				defer m.end()
				r := newRand()
				for i := range n {
					m.set(keys[i], 1, someDelay(r))
				}
				runtime.GC()
				b.ReportAllocs()
				defer reportCPU(b)()
				i := 0
				for b.Loop() {
					k := r.IntN(n)
					operate(m, keys[k], keys[n+k], ds[i&(len(ds)-1)])
					i++
				}
			})
		}
	}
}

func BenchmarkKeyedReplace(b *testing.B) {
	benchmarkKeyed(b, intKey, func(m keyedTimers[int], key, _ int, d time.Duration) { m.set(key, 2, d) })
}

func BenchmarkKeyedReplaceString(b *testing.B) {
	benchmarkKeyed(b, stringKey, func(m keyedTimers[string], key, _ string, d time.Duration) { m.set(key, 2, d) })
}

func BenchmarkKeyedPutOff(b *testing.B) {
	benchmarkKeyed(b, intKey, func(m keyedTimers[int], key, _ int, _ time.Duration) { m.move(key, time.Hour) })
}

func BenchmarkKeyedMove(b *testing.B) {
	benchmarkKeyed(b, intKey, func(m keyedTimers[int], key, _ int, d time.Duration) { m.move(key, d) })
}

func BenchmarkKeyedSetRemove(b *testing.B) {
	benchmarkKeyed(b, intKey, func(m keyedTimers[int], _, other int, d time.Duration) {
		m.set(other, 2, d)
		m.remove(other)
	})
}

func BenchmarkKeyedRemoveSet(b *testing.B) {
	benchmarkKeyed(b, intKey, func(m keyedTimers[int], key, _ int, d time.Duration) {
		m.remove(key)
		m.set(key, 2, d)
	})
}

func BenchmarkKeyedParallel(b *testing.B) {
	const n = 1_000_000
	for name, open := range map[string]func() keyedTimers[int]{"keyed": newByKeyed[int], "map": newByMap[int]} {
		b.Run(name, func(b *testing.B) {
			m := open()
			defer m.end()
			for i := range n {
				m.set(intKey(i), 1, time.Hour)
			}
			runtime.GC()
			b.SetParallelism(64 / runtime.GOMAXPROCS(0))
			b.ReportAllocs()
			defer reportCPU(b)()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					m.set(intKey(rand.IntN(n)), 2, time.Hour)
				}
			})
		})
	}
}

// BenchmarkKeyedStanding measures the cost of a pending key: its bytes, and the
// time of a full collection. The bytes of strings are not counted.
func BenchmarkKeyedStanding(b *testing.B) {
	b.Run("int", func(b *testing.B) { benchmarkKeyedStanding(b, intKey) })
	b.Run("string", func(b *testing.B) { benchmarkKeyedStanding(b, stringKey) })
}

func benchmarkKeyedStanding[K comparable](b *testing.B, key func(int) K) {
	for _, n := range []int{1_000_000, 1_500_000, 2_000_000} {
		keys := make([]K, n)
		for i := range keys {
			keys[i] = key(i)
		}
		for name, open := range map[string]func() keyedTimers[K]{"keyed": newByKeyed[K], "map": newByMap[K]} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					before := heapInUse()
					m := open()
					r := newRand()
					for _, key := range keys {
						m.set(key, 1, someDelay(r))
					}
					b.ReportMetric(float64(heapInUse()-before)/float64(n), "B/key")
					least := time.Hour
					for range 5 {
						start := time.Now()
						runtime.GC()
						least = min(least, time.Since(start))
					}
					b.ReportMetric(float64(least.Microseconds()), "GC-µs")
					m.end()
				}
			})
		}
		runtime.KeepAlive(keys)
	}
}
