package wheel_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/wheel"
)

// At most two callbacks run at a time; if more than a hundred wait, the wheel
// waits too.
func ExamplePool() {
	pool := wheel.NewPool(2, 100, wheel.Block)
	var running, all atomic.Int32
	w := wheel.New(wheel.Config{Run: pool}, func(string) {
		if n := running.Add(1); n > 2 {
			fmt.Println(n, "at a time")
		}
		time.Sleep(time.Millisecond)
		running.Add(-1)
		all.Add(1)
	})
	for range 20 {
		w.Add(time.Millisecond, "work")
	}
	for w.Len() > 0 {
		time.Sleep(time.Millisecond)
	}
	fmt.Println(w.Shutdown(context.Background()))
	fmt.Println(all.Load(), "have run")
	// Output:
	// <nil>
	// 20 have run
}
