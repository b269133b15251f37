package wheel_test

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot/foliot/wheel"
)

// Retries that wait for a worker. Several workers may take.
func ExampleDelayQueue() {
	retries := wheel.NewDelayQueue[string]()
	retries.Put(20*time.Millisecond, "second")
	retries.Put(10*time.Millisecond, "first")
	cancelled := retries.Put(time.Hour, "never")
	retries.Remove(cancelled)

	ctx, stop := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer stop()
	for {
		call, err := retries.Take(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(call)
	}
	// Output:
	// first
	// second
	// context deadline exceeded
}
