package wheel

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"
)

// Timers against package time and package context, in one run:
//
//	go test -run '^$' -bench 'Timers' -cpu 1 ./wheel

func BenchmarkTimersAfterFuncStop(b *testing.B) {
	ds := delays()
	for _, n := range []int{1000, 1_000_000} {
		for name, afterFunc := range timersAndTime(func() {}) {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				stop := standingTimers(afterFunc, n)
				b.ReportAllocs()
				done := reportCPU(b)
				i := 0
				for b.Loop() {
					afterFunc(ds[i&(len(ds)-1)]).Stop()
					i++
				}
				done()
				stop()
			})
		}
	}
}

// standingTimers sets n timers, and returns a function that stops them.
func standingTimers(afterFunc func(d time.Duration) resettable, n int) (stop func()) {
	r, ts := newRand(), make([]resettable, n)
	for i := range ts {
		ts[i] = afterFunc(someDelay(r))
	}
	runtime.GC()
	return func() {
		for _, timer := range ts {
			timer.Stop()
		}
	}
}

// resettable is a timer of either package.
type resettable interface {
	Stop() bool
	Reset(d time.Duration) bool
}

func timersAndTime(f func()) map[string]func(d time.Duration) resettable {
	var tm Timers
	return map[string]func(d time.Duration) resettable{
		"wheel": func(d time.Duration) resettable { return tm.AfterFunc(d, f) },
		"time":  func(d time.Duration) resettable { return time.AfterFunc(d, f) },
	}
}

func BenchmarkTimersResetRandom(b *testing.B) {
	const n = 1_000_000
	for name, afterFunc := range timersAndTime(func() {}) {
		b.Run(name, func(b *testing.B) {
			r, ts := newRand(), make([]resettable, n)
			before := heapInUse()
			for i := range ts {
				ts[i] = afterFunc(someDelay(r))
			}
			bytes := heapInUse() - before
			b.ReportAllocs()
			done := reportCPU(b)
			for b.Loop() {
				ts[r.IntN(n)].Reset(time.Hour)
			}
			done()
			b.ReportMetric(float64(bytes)/n, "B/timer")
			for _, timer := range ts {
				timer.Stop()
			}
			runtime.KeepAlive(ts)
		})
	}
}

func BenchmarkTimersNewTimerStop(b *testing.B) {
	var tm Timers
	for name, newTimer := range map[string]func(){
		"wheel": func() { tm.NewTimer(time.Minute).Stop() },
		"time":  func() { time.NewTimer(time.Minute).Stop() },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			defer reportCPU(b)()
			for b.Loop() {
				newTimer()
			}
		})
	}
}

func BenchmarkTimersWithTimeout(b *testing.B) {
	var tm Timers
	request, cancelRequest := context.WithCancel(context.Background())
	defer cancelRequest()
	withs := map[string]func(context.Context, time.Duration) (context.Context, context.CancelFunc){
		"wheel": tm.WithTimeout,
		"time":  context.WithTimeout,
	}
	for parent, ctx := range map[string]context.Context{"background": context.Background(), "request": request} {
		for name, with := range withs {
			b.Run(parent+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				defer reportCPU(b)()
				for b.Loop() {
					_, cancel := with(ctx, time.Minute)
					cancel()
				}
			})
		}
	}
}
