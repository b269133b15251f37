package wheel_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/wheel"
)

// The example of README.md.
func Example() {
	expired := make(chan string)
	sessions := wheel.New(wheel.Config{}, func(user string) { expired <- user })

	alice := sessions.Add(20*time.Millisecond, "alice")
	bob := sessions.Add(time.Minute, "bob")

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

	alice := sessions.Add(20*time.Millisecond, "alice")
	bob := sessions.Add(time.Minute, "bob")
	carol := sessions.Add(time.Minute, "carol")

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
	reminders.AddAt(time.Now().Add(-time.Hour), 1) // in the past: fires at once
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

// An event loop that counts its own time.
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
