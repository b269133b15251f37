package wheel_test

import (
	"fmt"
	"time"

	"github.com/foliot/foliot/wheel"
)

// Three caches are swept at the same rate, but not at the same moment: each
// sweep starts up to half a period late. A sweep that takes longer than a
// period skips the sweeps that it missed, instead of running them afterwards.
func ExampleEveryOptions() {
	var timers wheel.Timers
	options := wheel.EveryOptions{
		Missed: wheel.SkipMissed, // also the default
		Jitter: 0.5,
	}
	sweeps, end := make(chan string), make(chan struct{})
	defer close(end)
	for _, cache := range []string{"users", "orders", "prices"} {
		sweep := timers.Every(10*time.Millisecond, func() {
			select {
			case sweeps <- cache:
			case <-end: // nobody reads any more
			}
		}, options)
		defer sweep.Stop()
	}
	swept := map[string]bool{}
	for len(swept) < 3 {
		swept[<-sweeps] = true
	}
	fmt.Println(len(swept), "caches were swept;", options.Missed)
	// Output:
	// 3 caches were swept; skip missed
}

// A program has one goroutine that owns all data. A Runner passes the callbacks
// to it, so they need no lock. If the goroutine falls behind, the Runner
// refuses callbacks, and the wheel counts their timers as dropped.
func ExampleRunnerFunc() {
	loop := make(chan func(), 100)
	passOn := func(f func()) bool {
		select {
		case loop <- f:
			return true
		default:
			return false
		}
	}

	sum := 0 // only the goroutine below uses it
	w := wheel.New(wheel.Config{Run: wheel.RunnerFunc(passOn)}, func(n int) { sum += n })
	for n := range 5 {
		w.Add(time.Millisecond, n)
	}
	for range 5 {
		callback := <-loop
		callback()
	}
	fmt.Println("sum", sum, "dropped", w.Stats().Dropped)
	// Output:
	// sum 10 dropped 0
}
