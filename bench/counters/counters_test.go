package counters

import (
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
		a.Fire(2)
		if missing := a.Wait(0); missing != 0 {
			t.Errorf("%d missing, want none", missing)
		}
		want := Lateness{Early: 1, Earliest: time.Second, P50: 0, P99: time.Second, Max: time.Second}
		if got := a.Lateness(); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

func TestASecondFiringIsCounted(t *testing.T) {
	a := New(1, 1)
	a.Fire(0)
	a.Fire(0)
	if a.Doubled() != 1 || a.Count() != 1 {
		t.Errorf("doubled %d, fired %d, want 1 and 1", a.Doubled(), a.Count())
	}
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

func TestABatchSharesAReadingOfTheClock(t *testing.T) {
	a := New(2, 2)
	a.Expect(0, 10)
	a.Expect(1, 20)
	a.FireAt(0, 15)
	a.FireAt(1, 15)
	want := Lateness{Early: 1, Earliest: 5, P50: 5, P99: 5, Max: 5}
	if got := a.Lateness(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
