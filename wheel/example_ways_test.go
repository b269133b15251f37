package wheel_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

// Heartbeats to very many peers, at one rate but not at the same moment. Each
// timer is set again when it fires. With slack, timers that are due at about
// the same time share a wake-up.
func ExampleWheel_AddSlack() {
	type peer struct {
		name  string
		beats int
	}
	const period, slack = 10 * time.Millisecond, 4 * time.Millisecond

	done := make(chan string, 2)
	var beats *wheel.Wheel[*peer]
	beats = wheel.New(wheel.Config{Run: wheel.Inline}, func(p *peer) {
		if p.beats++; p.beats == 3 {
			done <- p.name
			return
		}
		beats.AddSlack(period, slack, p)
	})
	beats.AddSlack(period, slack, &peer{name: "a"})
	fmt.Println(<-done, "has had three")
	beats.AddSlack(period, slack, &peer{name: "b"})
	fmt.Println(<-done, "has had three")
	// Output:
	// a has had three
	// b has had three
}

// Fake time: in a bubble of testing/synctest a wheel follows the bubble's
// clock, so an hour takes no time. Tests of code that uses a wheel look like
// this one.
func TestAnHourOfFakeTimeTakesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var timers wheel.Timers // in the bubble: a wheel belongs to the bubble of its first use
		start := time.Now()
		var took atomic.Int64
		timers.AfterFunc(time.Hour, func() { took.Store(int64(time.Since(start))) })

		time.Sleep(time.Hour - time.Millisecond)
		synctest.Wait()
		if early := time.Duration(took.Load()); early != 0 {
			t.Fatalf("fired early, after %v", early)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if got := time.Duration(took.Load()); got != time.Hour {
			t.Fatalf("fired after %v", got)
		}
	})
}
