package wheel_test

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot/foliot/wheel"
)

// A timeout that is postponed again and again, until the reply arrives.
func ExampleWheel_Extend() {
	timeouts := wheel.New(wheel.Config{}, func(request int) { fmt.Println("timed out:", request) })
	id := timeouts.Add(time.Minute, 42)

	fmt.Println("data arrived:", timeouts.Extend(id, 2*time.Minute))
	request, ok := timeouts.Remove(id)
	fmt.Println("the reply is complete:", request, ok)
	fmt.Println("more data arrived:", timeouts.Extend(id, 2*time.Minute))
	// Output:
	// data arrived: true
	// the reply is complete: 42 true
	// more data arrived: false
}

// At the end of a program: running callbacks may finish, and pending timers are
// not lost.
func ExampleWheel_Shutdown() {
	retries := wheel.New(wheel.Config{}, func(string) {})
	retries.Add(time.Hour, "order 7")

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	fmt.Println("all callbacks have returned:", retries.Shutdown(ctx) == nil)
	for _, order := range retries.Drain() {
		fmt.Println("still pending:", order)
	}
	// Output:
	// all callbacks have returned: true
	// still pending: order 7
}
