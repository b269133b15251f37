package maintenance

import (
	"testing"
	"time"
)

func TestARoundBeginsAtTheStartEachHourAndAfterAStep(t *testing.T) {
	const wall = 3 * time.Hour // is ahead by so much from the start
	r := newRounds(wall, 0)
	for i, look := range []struct {
		steady, set time.Duration // the steady clock, and by how much the other one was set altogether
		step        time.Duration
		due         bool
	}{
		{0, 0, 0, true},
		{time.Second, 0, 0, false},
		{2 * time.Second, 999 * time.Millisecond, 0, false}, // corrected
		{3 * time.Second, 1500 * time.Millisecond, 1500 * time.Millisecond, true},
		{4 * time.Second, 1500 * time.Millisecond, 0, false},
		{5 * time.Second, -time.Hour, -time.Hour - 1500*time.Millisecond, true},
		{6 * time.Second, -time.Hour, 0, false},
		{time.Hour - roundSpread/2 + 4*time.Second, -time.Hour, 0, false},
		{time.Hour - roundSpread/2 + 5*time.Second, -time.Hour, 0, true}, // by chance so early
		{2*time.Hour - roundSpread + 4*time.Second, -time.Hour, 0, false},
	} {
		step, due := r.due(wall+look.steady+look.set, look.steady)
		if step != look.step || due != look.due {
			t.Errorf("look %d: a step of %v, due %v; want %v, %v", i, step, due, look.step, look.due)
		}
		if due {
			r.begin(wall+look.steady+look.set, look.steady, 0.5)
		}
	}
}

func TestARoundThatFailedIsBegunAgainSoon(t *testing.T) {
	r := newRounds(0, 0)
	r.begin(0, 0, 0)
	r.failed(time.Minute)
	if _, due := r.due(time.Minute+roundAgain-1, time.Minute+roundAgain-1); due {
		t.Error("at once")
	}
	if _, due := r.due(time.Minute+roundAgain, time.Minute+roundAgain); !due {
		t.Error("not at all")
	}
}
