package wheel_test

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot/foliot/wheel"
)

// Sessions that are forgotten when nothing was heard of them for a while.
func Example() {
	done := make(chan struct{})
	sessions := wheel.New(wheel.Config{}, func(user string) {
		fmt.Println(user, "has gone")
		close(done)
	})

	alice := sessions.Add(20*time.Millisecond, "alice")
	bob := sessions.Add(time.Minute, "bob")
	carol := sessions.Add(time.Minute, "carol")

	sessions.Extend(carol, time.Hour) // she was heard of: one compare-and-swap
	name, _ := sessions.Remove(bob)
	fmt.Println(name, "said goodbye")

	<-done
	fmt.Println("alice can be extended:", sessions.Extend(alice, time.Minute))

	sessions.Close()
	for _, user := range sessions.Drain() {
		fmt.Println(user, "is still here")
	}
	// Output:
	// bob said goodbye
	// alice has gone
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
	reminders.AddAt(time.Now().Add(-time.Hour), 1) // past: at once
	reminders.AddAt(time.Now().Add(30*time.Millisecond), 2)
	<-done

	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	fmt.Println(reminders.Shutdown(ctx))
	// Output:
	// reminder 1 early: false
	// reminder 2 early: false
	// <nil>
}

// An event loop that has its own idea of time.
func ExampleCore() {
	timers := wheel.NewCore[string](0)
	timers.Add(30, "thirty")
	ten := timers.Add(10, "ten")
	timers.Add(20, "twenty")
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
