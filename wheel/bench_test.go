package wheel

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

// make bench measures package time and other timers next to the wheel. These
// benchmarks compare the wheel with itself before a change, best on one core:
//
//	go test -run '^$' -bench . -cpu 1 ./wheel

// someDelay returns a delay of 1 to 60 minutes.
func someDelay(r *rand.Rand) time.Duration {
	return time.Minute + time.Duration(r.Int64N(int64(59*time.Minute)))
}

// standing returns a wheel with n timers. The caller must close it, or it stays
// in memory during the next benchmarks.
func standing(n int) (*Wheel[int], []ID) {
	w := New(Config{}, func(int) {})
	r := rand.New(rand.NewPCG(1, 2))
	ids := make([]ID, n)
	for i := range ids {
		ids[i] = must(w.Add(someDelay(r), i))
	}
	runtime.GC()
	return w, ids
}

// delays are random numbers drawn before the measurement.
type delays [1 << 12]time.Duration

func newDelays() *delays {
	r := rand.New(rand.NewPCG(1, 2))
	var ds delays
	for i := range ds {
		ds[i] = someDelay(r)
	}
	return &ds
}

func (ds *delays) at(i int) time.Duration { return ds[i&(len(ds)-1)] }

// amongTimers measures an operation next to few and many standing timers. i
// counts the calls.
func amongTimers(b *testing.B, op func(w *Wheel[int], ids []ID, i int)) {
	for _, n := range []int{1_000, 1_000_000, 10_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w, ids := standing(n)
			defer w.Close()
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				op(w, ids, i)
				i++
			}
		})
	}
}

func BenchmarkAddRemove(b *testing.B) {
	ds := newDelays()
	amongTimers(b, func(w *Wheel[int], _ []ID, i int) { w.Remove(must(w.Add(ds.at(i), 1))) })
}

func BenchmarkExtendRandom(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	amongTimers(b, func(w *Wheel[int], ids []ID, _ int) { w.Extend(ids[r.IntN(len(ids))], time.Hour) })
}

func BenchmarkRemoveRandomAndAdd(b *testing.B) {
	ds, r := newDelays(), rand.New(rand.NewPCG(1, 2))
	amongTimers(b, func(w *Wheel[int], ids []ID, i int) {
		k := r.IntN(len(ids))
		w.Remove(ids[k])
		ids[k] = must(w.Add(ds.at(i), 1))
	})
}

// BenchmarkAddRemoveParallel is for -cpu 2 and more.
func BenchmarkAddRemoveParallel(b *testing.B) {
	ds := newDelays()
	w, _ := standing(1_000_000)
	defer w.Close()
	b.SetParallelism(64 / runtime.GOMAXPROCS(0))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			w.Remove(must(w.Add(ds.at(i), 1)))
		}
	})
}
