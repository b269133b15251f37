package contender

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/wheel"
)

func TestEachContenderEndsSilentConnectionsOnce(t *testing.T) {
	for i := range All {
		t.Run(All[i].Name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				x, c := new(Child), Config{Contender: All[i].Name, Connections: 300, Timeout: time.Minute}
				var got record.Values
				for _, err := range []error{x.Beat(c, &got), x.Calls(1000, &got), x.Silence(2*time.Minute, &got)} {
					if err != nil {
						t.Fatal(err)
					}
				}
				if len(got) != 3 {
					t.Errorf("%v", got)
				}
			})
		})
	}
}

// The two faults of the articles' wheel that a reader meets first, and the same on
// ours. A task of 1.9 s is added 0.9 s after a tick.
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

func TestAnUnknownContenderIsNamed(t *testing.T) {
	if err := new(Child).Beat(Config{Contender: "x"}, new(record.Values)); err == nil || err.Error() != `there is no contender "x"` {
		t.Errorf("got %v", err)
	}
}
