package wheel

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

// make bench measures package time and other timers beside the wheel. These
// benchmarks compare the wheel with itself before a change, best on one core:
//
//	go test -run '^$' -bench . -cpu 1 ./wheel

var standings = []int{1_000, 1_000_000, 10_000_000}

// someDelay returns a delay of 1 to 60 minutes.
func someDelay(r *rand.Rand) time.Duration {
	return time.Minute + time.Duration(r.Int64N(int64(59*time.Minute)))
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// standing returns a wheel with n timers. The caller must close it, or it stays
// in memory during the next benchmarks.
func standing(n int) (*Wheel[int], []ID) {
	w := New(Config{}, func(int) {})
	r := newRand()
	ids := make([]ID, n)
	for i := range ids {
		ids[i] = w.Add(someDelay(r), i)
	}
	runtime.GC()
	return w, ids
}

// delays are random numbers drawn before the measurement.
func delays() *[1 << 12]time.Duration {
	r := newRand()
	var ds [1 << 12]time.Duration
	for i := range ds {
		ds[i] = someDelay(r)
	}
	return &ds
}

func BenchmarkAddRemove(b *testing.B) {
	ds := delays()
	for _, n := range standings {
		b.Run(fmt.Sprintf("%d", n), func(b *testing.B) {
			w, _ := standing(n)
			defer w.Close()
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				w.Remove(w.Add(ds[i&(len(ds)-1)], 1))
				i++
			}
		})
	}
}

func BenchmarkExtendRandom(b *testing.B) {
	for _, n := range standings {
		b.Run(fmt.Sprintf("%d", n), func(b *testing.B) {
			w, ids := standing(n)
			defer w.Close()
			r := newRand()
			b.ReportAllocs()
			d := time.Hour
			for b.Loop() {
				w.Extend(ids[r.IntN(n)], d)
			}
		})
	}
}

func BenchmarkRemoveRandomAndAdd(b *testing.B) {
	ds := delays()
	for _, n := range standings {
		b.Run(fmt.Sprintf("%d", n), func(b *testing.B) {
			w, ids := standing(n)
			defer w.Close()
			r := newRand()
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				k := r.IntN(n)
				w.Remove(ids[k])
				ids[k] = w.Add(ds[i&(len(ds)-1)], 1)
				i++
			}
		})
	}
}

// BenchmarkAddRemoveParallel is for -cpu 2 and more.
func BenchmarkAddRemoveParallel(b *testing.B) {
	ds := delays()
	w, _ := standing(1_000_000)
	defer w.Close()
	b.SetParallelism(64 / runtime.GOMAXPROCS(0))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			w.Remove(w.Add(ds[i&(len(ds)-1)], 1))
		}
	})
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
