package wheel_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/foliot/foliot/wheel"
)

// A timeout that is put off again and again, and ended by an answer.
func ExampleWheel_Extend() {
	timeouts := wheel.New(wheel.Config{}, func(request int) { fmt.Println("timed out:", request) })
	id := timeouts.Add(time.Minute, 42)

	fmt.Println("a part arrived:", timeouts.Extend(id, 2*time.Minute))
	request, ok := timeouts.Remove(id)
	fmt.Println("the answer arrived:", request, ok)
	fmt.Println("another part arrived:", timeouts.Extend(id, 2*time.Minute))
	// Output:
	// a part arrived: true
	// the answer arrived: 42 true
	// another part arrived: false
}

// A moment of the wall clock, which holds also if that clock is stepped or the machine suspended.
func ExampleWheel_AddAt() {
	rang := make(chan string)
	alarms := wheel.New(wheel.Config{}, func(what string) { rang <- what })
	alarms.AddAt(time.Now().Add(20*time.Millisecond).Round(0), "get up")
	fmt.Println(<-rang)
	// Output:
	// get up
}

// A limit says no, instead of growing without bound.
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

// A callback that panics ends itself alone.
func ExampleConfig_onPanic() {
	done := make(chan struct{}, 2)
	w := wheel.New(wheel.Config{
		Shards: 1,
		Run:    wheel.Inline, // one after the other, for the example
		OnPanic: func(v any, stack []byte) {
			fmt.Println("a callback panicked:", v)
			done <- struct{}{}
		},
	}, func(n int) {
		fmt.Println("10 /", n, "=", 10/n)
		done <- struct{}{}
	})
	w.Add(5*time.Millisecond, 0)
	w.Add(10*time.Millisecond, 5)
	<-done
	<-done
	// Output:
	// a callback panicked: runtime error: integer divide by zero
	// 10 / 5 = 2
}

// At the end of a program: what is running may finish, and what was pending is not lost.
func ExampleWheel_Shutdown() {
	retries := wheel.New(wheel.Config{}, func(string) {})
	retries.Add(time.Hour, "order 7")

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	fmt.Println("all callbacks have returned:", retries.Shutdown(ctx) == nil)
	for _, order := range retries.Drain() {
		fmt.Println("to be kept:", order)
	}
	// Output:
	// all callbacks have returned: true
	// to be kept: order 7
}

func ExampleTimers_NewTicker() {
	var timers wheel.Timers
	ticker := timers.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for range 3 {
		<-ticker.C
		fmt.Println("tick")
	}
	// Output:
	// tick
	// tick
	// tick
}

// What a cache still holds is written out, and the cache goes on.
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
