package trusted

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAStepAheadIsBelievedWhenItHasLasted(t *testing.T) {
	const h, s = time.Hour, time.Second
	for _, c := range []struct {
		name  string
		looks [][3]time.Duration // the steady clock, by how much the wall clock was set altogether, the lag
	}{
		{"never set", [][3]time.Duration{{0, 0, 0}, {h, 0, 0}, {48 * h, 0, 0}}},
		{"ahead for 1.5 s", [][3]time.Duration{{10 * s, 0, 0}, {11 * s, h, h}, {12 * s, h, h}, {12*s + s/2, 0, 0}, {h, 0, 0}}},
		{"ahead for good", [][3]time.Duration{{10 * s, h, h}, {10*s + Lasts - 1, h, h}, {10*s + Lasts, h, 0}, {11*s + Lasts, h, 0}}},
		{"a second step lasts by itself", [][3]time.Duration{{10 * s, h, h}, {10*s + Lasts - 1, 3 * h, 3 * h}, {10*s + Lasts, 3 * h, 2 * h}, {10*s + 2*Lasts - 1, 3 * h, 0}}},
		{"a second step, and it back", [][3]time.Duration{{10 * s, h, h}, {20 * s, 3 * h, 3 * h}, {30 * s, h, h}, {10*s + Lasts, h, 0}}},
		{"two steps, and both back", [][3]time.Duration{{10 * s, h, h}, {20 * s, 3 * h, 3 * h}, {30 * s, 0, 0}, {h, 0, 0}}},
		{"set back behind a step that is believed", [][3]time.Duration{{10 * s, h, h}, {20 * s, 3 * h, 3 * h}, {10*s + Lasts, 0, 0}, {h, 0, 0}}},
		{"ahead, and half of it back", [][3]time.Duration{{10 * s, 2 * h, 2 * h}, {20 * s, h, h}, {10*s + Lasts, h, 0}}},
		{"set back", [][3]time.Duration{{10 * s, -h, 0}, {20 * s, -h, 0}}},
		{"set back, and ahead again", [][3]time.Duration{{10 * s, -h, 0}, {12 * s, 0, h}, {12*s + Lasts, 0, 0}}},
		{"corrected, again and again", [][3]time.Duration{{10 * s, s, 0}, {20 * s, 2 * s, 0}, {30 * s, 3 * s, 0}}},
		{"a correction in doubt", [][3]time.Duration{{10 * s, h, h}, {20 * s, h + s/2, h + s/2}, {10*s + Lasts, h + s/2, 0}}},
		{"clocks that drift", [][3]time.Duration{{20 * h, 20 * h / drift, 0}, {40 * h, 40 * h / drift, 0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDoubt(7*h, 0)
			for _, look := range c.looks {
				if d.look(7*h+look[1], look[0]); d.lag() != look[2] {
					t.Errorf("at %v, set by %v: it lags by %v, want %v", look[0], look[1], d.lag(), look[2])
				}
			}
		})
	}
}

// A clock that is set again and again is followed all the same, and what is kept of it is bounded.
func TestEachStepIsBelievedHoweverManyFollow(t *testing.T) {
	const by = time.Minute
	for _, every := range []time.Duration{time.Second, 10 * time.Second, time.Minute, Lasts - 1} {
		d := newDoubt(0, 0)
		for i := range time.Duration(2000) {
			d.look((i+1)*by, (i+1)*every)
			if most := (2*Lasts/every + 1) * by; d.lag() > most || d.lag() < by || len(d.steps) > maxSteps {
				t.Fatalf("after %d steps, %v apart: it lags by %v, at most %v, with %d in doubt", i+1, every, d.lag(), most, len(d.steps))
			}
		}
	}
}

func TestTheTrustedTimeGoesOnDuringAStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64
		var noticed []time.Duration
		c := New(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }, func(by time.Duration) { noticed = append(noticed, by) })
		want := func(lag time.Duration) {
			t.Helper()
			if got := time.Now().Add(time.Duration(ahead.Load())).Sub(c.Now()); got != lag {
				t.Errorf("it is %v behind, want %v", got, lag)
			}
		}
		want(0)
		time.Sleep(time.Minute)
		ahead.Store(int64(24 * time.Hour))
		want(24 * time.Hour)
		time.Sleep(Lasts - 1)
		want(24 * time.Hour)
		time.Sleep(1)
		want(0)
		if len(noticed) != 1 || noticed[0] != 24*time.Hour {
			t.Errorf("noticed %v", noticed)
		}
	})
}
