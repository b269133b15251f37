package wheel

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"
)

// The benchmarks run package time and the wheel in one run, with the same
// pending timers. Run them on one core (-cpu 1) to compare them with the
// figures in the commit messages:
//
//	go test -run '^$' -bench . -cpu 1 ./wheel

var standings = []int{1_000, 1_000_000, 10_000_000}

// someDelay returns a delay of 1 to 60 minutes.
func someDelay(r *rand.Rand) time.Duration {
	return time.Minute + time.Duration(r.Int64N(int64(59*time.Minute)))
}

// reportCPU reports the CPU time of an operation, from here to the call of the
// function that it returns. Unlike ns/op, CPU time does not include the time in
// which other programs used the core.
func reportCPU(b *testing.B) func() {
	before := cpuTime()
	return func() { b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op") }
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

func standingTime(n int) []*time.Timer {
	r := newRand()
	ts := make([]*time.Timer, n)
	f := func() {}
	for i := range ts {
		ts[i] = time.AfterFunc(someDelay(r), f)
	}
	runtime.GC()
	return ts
}

func stopAll(ts []*time.Timer) {
	for _, t := range ts {
		t.Stop()
	}
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

// timeToo reports whether package time is measured too. With 10^7 timers it
// takes a minute to set up and stop.
func timeToo(b *testing.B, n int) {
	if n > 1_000_000 && testing.Short() {
		b.Skip("slow")
	}
}

func BenchmarkAddRemove(b *testing.B) {
	ds := delays()
	for _, n := range standings {
		b.Run(fmt.Sprintf("wheel/%d", n), func(b *testing.B) {
			w, _ := standing(n)
			defer w.Close()
			b.ReportAllocs()
			defer reportCPU(b)()
			i := 0
			for b.Loop() {
				w.Remove(w.Add(ds[i&(len(ds)-1)], 1))
				i++
			}
		})
		b.Run(fmt.Sprintf("time/%d", n), func(b *testing.B) {
			timeToo(b, n)
			ts := standingTime(n)
			defer stopAll(ts)
			b.ReportAllocs()
			f := func() {}
			defer reportCPU(b)()
			i := 0
			for b.Loop() {
				time.AfterFunc(ds[i&(len(ds)-1)], f).Stop()
				i++
			}
		})
	}
}

func BenchmarkExtendRandom(b *testing.B) {
	for _, n := range standings {
		b.Run(fmt.Sprintf("wheel/%d", n), func(b *testing.B) {
			w, ids := standing(n)
			defer w.Close()
			r := newRand()
			b.ReportAllocs()
			defer reportCPU(b)()
			d := time.Hour
			for b.Loop() {
				w.Extend(ids[r.IntN(n)], d)
			}
		})
		b.Run(fmt.Sprintf("time/%d", n), func(b *testing.B) {
			timeToo(b, n)
			ts := standingTime(n)
			defer stopAll(ts)
			r := newRand()
			b.ReportAllocs()
			defer reportCPU(b)()
			for b.Loop() {
				ts[r.IntN(n)].Reset(time.Hour)
			}
		})
	}
}

func BenchmarkExtendHot(b *testing.B) {
	b.Run("wheel", func(b *testing.B) {
		w, ids := standing(1000)
		defer w.Close()
		b.ReportAllocs()
		defer reportCPU(b)()
		for b.Loop() {
			w.Extend(ids[0], time.Hour)
		}
	})
	b.Run("time", func(b *testing.B) {
		ts := standingTime(1000)
		defer stopAll(ts)
		b.ReportAllocs()
		defer reportCPU(b)()
		for b.Loop() {
			ts[0].Reset(time.Hour)
		}
	})
}

func BenchmarkRemoveRandomAndAdd(b *testing.B) {
	ds := delays()
	for _, n := range standings {
		b.Run(fmt.Sprintf("wheel/%d", n), func(b *testing.B) {
			w, ids := standing(n)
			defer w.Close()
			r := newRand()
			b.ReportAllocs()
			defer reportCPU(b)()
			i := 0
			for b.Loop() {
				k := r.IntN(n)
				w.Remove(ids[k])
				ids[k] = w.Add(ds[i&(len(ds)-1)], 1)
				i++
			}
		})
		b.Run(fmt.Sprintf("time/%d", n), func(b *testing.B) {
			timeToo(b, n)
			ts := standingTime(n)
			defer stopAll(ts)
			r := newRand()
			f := func() {}
			b.ReportAllocs()
			defer reportCPU(b)()
			i := 0
			for b.Loop() {
				k := r.IntN(n)
				ts[k].Stop()
				ts[k] = time.AfterFunc(ds[i&(len(ds)-1)], f)
				i++
			}
		})
	}
}

// BenchmarkAddRemoveParallel is for -cpu 2 and more.
func BenchmarkAddRemoveParallel(b *testing.B) {
	ds := delays()
	b.Run("wheel", func(b *testing.B) {
		w, _ := standing(1_000_000)
		defer w.Close()
		b.SetParallelism(64 / runtime.GOMAXPROCS(0))
		b.ReportAllocs()
		defer reportCPU(b)()
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				w.Remove(w.Add(ds[i&(len(ds)-1)], 1))
			}
		})
	})
	b.Run("time", func(b *testing.B) {
		ts := standingTime(1_000_000)
		defer stopAll(ts)
		b.SetParallelism(64 / runtime.GOMAXPROCS(0))
		f := func() {}
		b.ReportAllocs()
		defer reportCPU(b)()
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				time.AfterFunc(ds[i&(len(ds)-1)], f).Stop()
			}
		})
	})
}

// BenchmarkFireMillion fires 10^6 timers that are due within one second. The
// CPU time it reports includes the adds.
func BenchmarkFireMillion(b *testing.B) {
	const n = 1_000_000
	run := func(b *testing.B, add func(d time.Duration), wait func(), late func() Stats) {
		r := newRand()
		for b.Loop() {
			before := cpuTime()
			for range n {
				add(time.Second + time.Duration(r.Int64N(int64(time.Second))))
			}
			added := cpuTime()
			wait()
			b.ReportMetric(float64((added-before)/time.Millisecond), "add-cpu-ms")
			b.ReportMetric(float64((cpuTime()-added)/time.Millisecond), "fire-cpu-ms")
		}
		s := late()
		b.ReportMetric(float64(s.LateP50/time.Microsecond), "p50-µs")
		b.ReportMetric(float64(s.LateP99/time.Microsecond), "p99-µs")
	}
	b.Run("batch", func(b *testing.B) {
		var wg sync.WaitGroup
		w := NewBatch(Config{Run: Inline}, func(es []Expired[int]) { wg.Add(-len(es)) })
		run(b, func(d time.Duration) { wg.Add(1); w.Add(d, 1) }, wg.Wait, w.Stats)
	})
	for name, runner := range map[string]Runner{"inline": Inline, "go": Go} {
		b.Run(name, func(b *testing.B) {
			var wg sync.WaitGroup
			w := New(Config{Run: runner}, func(int) { wg.Done() })
			run(b, func(d time.Duration) { wg.Add(1); w.Add(d, 1) }, wg.Wait, w.Stats)
		})
	}
	b.Run("time", func(b *testing.B) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		var late lateness
		run(b, func(d time.Duration) {
			wg.Add(1)
			due := time.Now().Add(d)
			time.AfterFunc(d, func() {
				l := time.Since(due)
				mu.Lock()
				late.record(l)
				mu.Unlock()
				wg.Done()
			})
		}, wg.Wait, func() Stats { return Stats{LateP50: late.percentile(50), LateP99: late.percentile(99)} })
	})
}

// BenchmarkStanding measures the cost of a pending timer: its bytes, and the
// time of a full collection.
func BenchmarkStanding(b *testing.B) {
	measure := func(b *testing.B, n int, fill func() (keep any), end func(keep any)) {
		for b.Loop() {
			before := heapInUse()
			keep := fill()
			b.ReportMetric(float64(heapInUse()-before)/float64(n), "B/timer")
			least := time.Hour // other programs may use the core during a collection
			for range 5 {
				start := time.Now()
				runtime.GC()
				least = min(least, time.Since(start))
			}
			b.ReportMetric(float64(least.Microseconds()), "GC-µs")
			end(keep)
		}
	}
	for _, n := range standings {
		b.Run(fmt.Sprintf("wheel/%d", n), func(b *testing.B) {
			measure(b, n, func() any {
				w := New(Config{}, func(int) {})
				r := newRand()
				for range n {
					w.Add(someDelay(r), 1)
				}
				return w
			}, func(keep any) { keep.(*Wheel[int]).Close() })
		})
		b.Run(fmt.Sprintf("time/%d", n), func(b *testing.B) {
			timeToo(b, n)
			measure(b, n, func() any {
				// The slice of timers counts: without it they could not be
				// stopped.
				return standingTime(n)
			}, func(keep any) { stopAll(keep.([]*time.Timer)) })
		})
	}
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
