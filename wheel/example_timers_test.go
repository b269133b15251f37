package wheel_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/foliot/foliot/wheel"
)

func ExampleTimers_AfterFunc() {
	var timers wheel.Timers // the zero Timers works
	done := make(chan bool)
	timers.AfterFunc(10*time.Millisecond, func() { close(done) })
	reminder := timers.AfterFunc(time.Hour, func() { fmt.Println("never") })
	<-done
	fmt.Println("postponed:", reminder.Reset(2*time.Hour))
	fmt.Println("stopped:", reminder.Stop())
	// Output:
	// postponed: true
	// stopped: true
}

// A timeout for a request. Everything that the request starts inherits it.
func ExampleTimers_WithTimeout() {
	var timers wheel.Timers
	request := func(ctx context.Context) error {
		select {
		case <-timers.After(time.Minute): // the work
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	ctx, cancel := timers.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel() // removes the timer at once
	err := request(ctx)
	fmt.Println(err, errors.Is(err, context.DeadlineExceeded))
	// Output: context deadline exceeded true
}

// A poll with a pause after each run, however long the run took.
func ExampleTimers_Every() {
	var timers wheel.Timers
	polls, end := make(chan int), make(chan struct{})
	n := 0
	poll := timers.Every(10*time.Millisecond, func() {
		n++
		select {
		case polls <- n:
		case <-end: // nobody reads any more
		}
	}, wheel.EveryOptions{Missed: wheel.FixedDelay, Immediately: true})
	fmt.Println(<-polls, <-polls, <-polls)
	poll.Stop()
	close(end)
	// Output: 1 2 3
}

// After StopWait has returned, the data that the function uses may be freed.
func ExampleTimer_StopWait() {
	var timers wheel.Timers
	log := []string{}
	started := make(chan bool)
	timer := timers.AfterFunc(0, func() {
		close(started)
		time.Sleep(10 * time.Millisecond)
		log = append(log, "flushed")
	})
	<-started
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := timer.StopWait(ctx); err != nil {
		fmt.Println("still running:", err)
		return
	}
	fmt.Println(log)
	// Output: [flushed]
}

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

// At the end of a program: the functions that did not run yet are called now,
// instead of later. A program could also save them.
func ExampleTimers_Drain() {
	var timers wheel.Timers
	timers.AfterFunc(time.Hour, func() { fmt.Println("the receipt is sent") })

	timers.Close() // nothing fires from now on
	for _, f := range timers.Drain() {
		f()
	}
	// Output: the receipt is sent
}
