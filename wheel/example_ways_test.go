package wheel_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/foliot/foliot/wheel"
)

var errBusy = errors.New("busy")

// A call that is retried, with growing pauses, until it succeeds or the context
// ends.
func ExampleTimers_Sleep() {
	var timers wheel.Timers

	attempts := 0
	call := func() error {
		if attempts++; attempts < 4 {
			return errBusy
		}
		return nil
	}

	retry := func(ctx context.Context) error {
		for pause := time.Millisecond; ; pause *= 2 {
			err := call()
			if err == nil {
				return nil
			}
			if ended := timers.Sleep(ctx, pause); ended != nil {
				return errors.Join(ended, err)
			}
		}
	}

	fmt.Println(retry(context.Background()), "after", attempts, "attempts")

	ctx, cancel := timers.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	attempts = -1000
	fmt.Println(errors.Is(retry(ctx), context.DeadlineExceeded))
	// Output:
	// <nil> after 4 attempts
	// true
}
