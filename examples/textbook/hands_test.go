package textbook

import (
	"math/rand/v2"
	"testing"
)

const (
	second = 1000
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour
)

// clock returns the wheel of bench/classic, with ticks of a millisecond, at a
// later time.
func clock(now int) *Hands {
	h := NewHands(1000, 60, 60, 24, 365)
	h.now = now
	return h
}

func TestHandsReturnATimerAtItsMillisecondWhenEveryHandCompletesATurn(t *testing.T) {
	const start = 365*day - 700
	h := clock(start)
	r := rand.New(rand.NewPCG(1, 2))
	want := map[*Timer]int{}
	for _, span := range []int{2, second, minute, 10 * minute} {
		for range 2000 {
			timer, delay := new(Timer), 1+r.IntN(span)
			want[timer] = start + delay
			h.Add(timer, delay)
		}
	}
	for h.now < start+10*minute {
		for _, timer := range h.Tick() {
			if h.now != want[timer] {
				t.Fatalf("due at %d, returned at %d", want[timer], h.now)
			}
			delete(want, timer)
		}
	}
	if len(want) != 0 {
		t.Errorf("%d were never returned", len(want))
	}
}

func TestHandsKeepATimerThatIsLongerThanATurnOfTheHighestRing(t *testing.T) {
	const due = 800*day + 5*hour + 7*minute + 11*second + 13
	h := clock(0)
	h.Add(&Timer{}, due)
	// The ticks between these have nothing to do.
	for _, busy := range []int{70 * day, 435 * day, 800 * day, 800*day + 5*hour, 800*day + 5*hour + 7*minute, due - 13, due} {
		h.now = busy - 1
		if n := len(h.Tick()); n != 0 != (busy == due) {
			t.Fatalf("at day %d: %d are due", busy/day, n)
		}
	}
	if h.Len() != 0 {
		t.Error("the timer is still pending")
	}
}
