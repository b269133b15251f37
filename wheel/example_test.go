package wheel_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/wheel"
)

// The example of README.md.
func Example() {
	expired := make(chan string)
	sessions := wheel.New(wheel.Config{}, func(user string) { expired <- user })

	alice, _ := sessions.Add(20*time.Millisecond, "alice") // an error only above Config.MaxPending, or after Close
	bob, _ := sessions.Add(time.Minute, "bob")

	sessions.Extend(alice, 40*time.Millisecond) // postpone: one compare-and-swap
	user, _ := sessions.Remove(bob)             // exact: bob's timer will not fire
	fmt.Println(user, "logged out")
	fmt.Println(<-expired, "timed out")
	// Output:
	// bob logged out
	// alice timed out
}

// TestTheREADMEShowsTheExample compares the first block of Go in README.md with
// the body of Example.
func TestTheREADMEShowsTheExample(t *testing.T) {
	code, err := os.ReadFile("example_test.go")
	fatal.If(t, err)
	page, err := os.ReadFile("README.md")
	fatal.If(t, err)
	_, body, _ := strings.Cut(string(code), "func Example() {\n")
	body, _, _ = strings.Cut(body, "\t// Output:")
	body = strings.ReplaceAll(strings.TrimPrefix(body, "\t"), "\n\t", "\n")
	_, block, _ := strings.Cut(string(page), "```go\n")
	if block, _, _ = strings.Cut(block, "```"); block != body {
		t.Errorf("README.md shows\n%s\nand the example is\n%s", block, body)
	}
}

// Sessions that expire after a time without a request.
func ExampleWheel() {
	done := make(chan struct{})
	sessions := wheel.New(wheel.Config{}, func(user string) {
		fmt.Println(user, "timed out")
		close(done)
	})

	alice, _ := sessions.Add(20*time.Millisecond, "alice") // an error only above Config.MaxPending, or after Close
	bob, _ := sessions.Add(time.Minute, "bob")
	carol, _ := sessions.Add(time.Minute, "carol")

	sessions.Extend(carol, time.Hour) // a request came: one compare-and-swap
	name, _ := sessions.Remove(bob)
	fmt.Println(name, "logged out")

	<-done
	fmt.Println("alice can be extended:", sessions.Extend(alice, time.Minute))

	sessions.Close()
	for _, user := range sessions.Drain() {
		fmt.Println(user, "is still here")
	}
	// Output:
	// bob logged out
	// alice timed out
	// alice can be extended: false
	// carol is still here
}

func ExampleNewBatch() {
	done := make(chan struct{})
	reminders := wheel.NewBatch(wheel.Config{Shards: 1, Run: wheel.Inline}, func(due []wheel.Expired[int]) {
		for _, e := range due {
			fmt.Println("reminder", e.Value, "early:", time.Now().Before(e.Due))
			if e.Value == 2 {
				close(done)
			}
		}
	})
	now := time.Now()
	_, _ = reminders.AddAt(wheel.When{At: now.Add(-time.Hour)}, 1) // in the past: fires at once
	_, _ = reminders.AddAt(wheel.When{At: now.Add(30 * time.Millisecond)}, 2)
	<-done

	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	fmt.Println(reminders.Shutdown(ctx))
	// Output:
	// reminder 1 early: false
	// reminder 2 early: false
	// <nil>
}

// An event loop that counts its own time.
func ExampleCore() {
	timers := wheel.NewCore[string](0)
	_, _ = timers.Add(30, "thirty") // an error only above 2^28 timers
	ten, _ := timers.Add(10, "ten")
	_, _ = timers.Add(20, "twenty")
	timers.Reset(ten, 25)

	for timers.Len() > 0 {
		tick, _ := timers.Next() // the loop may sleep until then
		timers.Advance(tick, 100, func(_ wheel.ID, v string) { fmt.Println(tick, v) })
	}
	// Output:
	// 20 twenty
	// 25 ten
	// 30 thirty
}

// A timeout that is postponed again and again, until the reply arrives.
func ExampleWheel_Extend() {
	timeouts := wheel.New(wheel.Config{}, func(request int) { fmt.Println("timed out:", request) })
	id, err := timeouts.Add(time.Minute, 42)
	if err != nil {
		fmt.Println(err)
		return
	}

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
	_, _ = retries.Add(time.Hour, "order 7") // it is neither full nor closed

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
		_, _ = w.Add(time.Millisecond, n)
	}
	for range 5 {
		callback := <-loop
		callback()
	}
	fmt.Println("sum", sum, "dropped", w.Stats().Dropped)
	// Output:
	// sum 10 dropped 0
}

// At most two callbacks run at a time; if more than a hundred wait, the wheel
// waits too.
func ExamplePool() {
	pool := wheel.NewPool(wheel.PoolConfig{Workers: 2, Queue: 100})
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
		_, _ = w.Add(time.Millisecond, "work")
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

// Retries that wait for a worker. Several workers may take.
func ExampleDelayQueue() {
	retries := wheel.NewDelayQueue[string]()
	_, _ = retries.Put(20*time.Millisecond, "second") // an error only above 2^28 elements
	_, _ = retries.Put(10*time.Millisecond, "first")
	cancelled, _ := retries.Put(time.Hour, "never")
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
