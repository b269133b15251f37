package contender

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/wheel"
)

func TestEachContenderEndsSilentConnectionsOnce(t *testing.T) {
	for i := range All {
		t.Run(All[i].Name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if v, err := All[i].Heartbeats(300, time.Minute); err != nil || len(v) != 2 {
					t.Errorf("%v, %v", v, err)
				}
			})
		})
	}
}

func TestEachRoundVisitsEveryoneOnceAndNoOneWaitsLong(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 1000, 3001} {
		r := rounds{n: n}
		last := make([]int64, n)
		for round := range int64(5) {
			seen := make([]bool, n)
			for k := range int64(n) {
				visit := round*int64(n) + k
				i := r.place(visit)
				if seen[i] {
					t.Fatalf("n = %d: %d is visited twice in round %d", n, i, round)
				}
				seen[i] = true
				if gap := visit - last[i]; round > 0 && gap > int64(n)*4/3+2 {
					t.Fatalf("n = %d: %d waits for %d visits", n, i, gap)
				}
				last[i] = visit
			}
		}
	}
}

// The two faults of the articles' wheel that a reader meets first, and the same
// on ours. A task of 1.9 s is added 0.9 s after a tick.
func TestTheWheelOfTheArticlesIsEarlyAndRefusesThePast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		add := func(delay time.Duration) (late time.Duration, panicked any) {
			r := openRing(&server{timeout: time.Minute}).(*sentRing)
			r.Close() // the test makes the ticks
			defer func() { panicked = recover() }()
			begin, called := time.Now(), make(chan time.Time, 1)
			r.put(&task{delay: delay, call: func() { called <- time.Now() }})
			for tick := 100 * time.Millisecond; len(called) == 0; tick = time.Second {
				time.Sleep(tick)
				r.tick()
				synctest.Wait()
			}
			return (<-called).Sub(begin) - delay, nil
		}
		if late, _ := add(1900 * time.Millisecond); late != -800*time.Millisecond {
			t.Errorf("the wheel of the articles: %v", late)
		}
		if _, panicked := add(-5 * time.Second); panicked == nil {
			t.Error("the wheel of the articles takes a time in the past")
		}
		for _, delay := range []time.Duration{1900 * time.Millisecond, -5 * time.Second} {
			begin, called := time.Now(), make(chan time.Time, 1)
			k := wheel.NewKeyed(wheel.Config{}, func(string, struct{}) { called <- time.Now() })
			if _, err := k.Set("a", delay, struct{}{}); err != nil {
				t.Fatal(err)
			}
			if late := (<-called).Sub(begin) - max(delay, 0); late < 0 || late > time.Millisecond {
				t.Errorf("wheel: a task of %v is %v late", delay, late)
			}
			k.Close()
		}
	})
}
