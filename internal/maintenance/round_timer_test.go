package maintenance

import (
	"testing"
	"time"
)

func TestARoundBeginsAtTheStartEachHourAndAfterAStep(t *testing.T) {
	const wall = 3 * time.Hour // how far the wall clock is ahead from the start
	r := newRoundTimer(wall, 0)
	for i, look := range []struct {
		monotonic, set time.Duration // the monotonic clock, and the sum of all steps of the wall clock
		step           time.Duration
		due            bool
	}{
		{0, 0, 0, true},
		{time.Second, 0, 0, false},
		{2 * time.Second, 999 * time.Millisecond, 0, false}, // a correction
		{3 * time.Second, 1500 * time.Millisecond, 1500 * time.Millisecond, true},
		{4 * time.Second, 1500 * time.Millisecond, 0, false},
		{5 * time.Second, -time.Hour, -time.Hour - 1500*time.Millisecond, true},
		{6 * time.Second, -time.Hour, 0, false},
		{time.Hour - roundSpread/2 + 4*time.Second, -time.Hour, 0, false},
		{time.Hour - roundSpread/2 + 5*time.Second, -time.Hour, 0, true}, // early, by chance
		{2*time.Hour - roundSpread + 4*time.Second, -time.Hour, 0, false},
	} {
		step, due := r.due(wall+look.monotonic+look.set, look.monotonic)
		if step != look.step || due != look.due {
			t.Errorf("look %d: a step of %v, due %v; want %v, %v", i, step, due, look.step, look.due)
		}
		if due {
			r.begin(wall+look.monotonic+look.set, look.monotonic, 0.5)
		}
	}
}
