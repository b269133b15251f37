package wheel

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"
)

func BenchmarkTimersAfterFuncStop(b *testing.B) {
	ds := delays()
	for _, n := range []int{1000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			tm, r := NewTimers(Config{}), newRand()
			defer tm.Close()
			f := func() {}
			for range n {
				tm.AfterFunc(someDelay(r), f)
			}
			runtime.GC()
			b.ReportAllocs()
			defer reportCPU(b)()
			i := 0
			for b.Loop() {
				tm.AfterFunc(ds[i&(len(ds)-1)], f).Stop()
				i++
			}
		})
	}
}

func BenchmarkTimersResetRandom(b *testing.B) {
	const n = 1_000_000
	tm, r, ts := NewTimers(Config{}), newRand(), make([]*Timer, n)
	defer tm.Close()
	before, f := heapInUse(), func() {}
	for i := range ts {
		ts[i] = tm.AfterFunc(someDelay(r), f)
	}
	b.ReportMetric(float64(heapInUse()-before)/n, "B/timer")
	b.ReportAllocs()
	defer reportCPU(b)()
	for b.Loop() {
		ts[r.IntN(n)].Reset(time.Hour)
	}
}

func BenchmarkTimersNewTimerStop(b *testing.B) {
	var tm Timers
	b.ReportAllocs()
	defer reportCPU(b)()
	for b.Loop() {
		tm.NewTimer(time.Minute).Stop()
	}
}

func BenchmarkTimersWithTimeout(b *testing.B) {
	var tm Timers
	request, cancelRequest := context.WithCancel(context.Background())
	defer cancelRequest()
	for parent, ctx := range map[string]context.Context{"background": context.Background(), "request": request} {
		b.Run(parent, func(b *testing.B) {
			b.ReportAllocs()
			defer reportCPU(b)()
			for b.Loop() {
				_, cancel := tm.WithTimeout(ctx, time.Minute)
				cancel()
			}
		})
	}
}
