package counters

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestLatenessCountsFromTheDueTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(4, 3)
		for i := range 4 {
			a.Expect(i, time.Duration(i)*time.Second)
		}
		time.Sleep(time.Second)
		a.Fire(0)
		a.Func(1)()
		a.FireAt(2, 1500*time.Millisecond) // a batch shares a reading of the clock
		a.Fire(2)
		if missing := a.Wait(0); missing != 0 || a.Doubled() != 1 {
			t.Errorf("%d missing, %d fired twice", missing, a.Doubled())
		}
		if got := a.Lateness(); !slices.Equal(got, []time.Duration{time.Second, 0, -time.Second / 2}) {
			t.Errorf("got %v", got)
		}
	})
}

func TestWaitReturnsTheNumberOfMissingTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(3, 3)
		a.Fire(1)
		if missing := a.Wait(time.Minute); missing != 2 {
			t.Errorf("%d missing, want 2", missing)
		}
	})
}
