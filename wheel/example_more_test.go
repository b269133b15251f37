package wheel_test

import (
	"context"
	"errors"
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

// A time of the wall clock. It holds even if that clock is stepped or the
// machine is suspended.
func ExampleWheel_AddAt() {
	rang := make(chan string)
	alarms := wheel.New(wheel.Config{}, func(name string) { rang <- name })
	alarms.AddAt(time.Now().Add(20*time.Millisecond).Round(0), "get up")
	fmt.Println(<-rang)
	// Output:
	// get up
}

// A limit refuses timers, so memory does not grow without bound.
func ExampleWheel_TryAdd() {
	w := wheel.New(wheel.Config{MaxPending: 1}, func(string) {})
	_, err := w.TryAdd(time.Hour, "first")
	fmt.Println(err)
	_, err = w.TryAdd(time.Hour, "second")
	fmt.Println(err, errors.Is(err, wheel.ErrFull))
	// Output:
	// <nil>
	// wheel: too many pending timers true
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

// The contents of a cache are written out, and the cache can still be used.
func ExampleKeyed_Drain() {
	cache := wheel.NewKeyed(wheel.Config{}, func(string, int) {})
	if _, err := cache.Set("a", time.Minute, 1); err != nil {
		fmt.Println(err)
	}
	for key, value := range cache.Drain() {
		fmt.Println("written:", key, value)
	}
	_, err := cache.Set("a", time.Minute, 2)
	fmt.Println(err, cache.Len())
	// Output:
	// written: a 1
	// <nil> 1
}
