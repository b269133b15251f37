package wheel_test

import (
	"fmt"
	"time"

	"github.com/foliot/foliot/wheel"
)

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
