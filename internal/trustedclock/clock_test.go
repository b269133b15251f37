package trustedclock

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// exactly is a reading of a wall clock that is known exactly.
func exactly(ahead, monotonic time.Duration) reading { return reading{monotonic, ahead, ahead} }

func TestAStepAheadIsBelievedWhenItHasLasted(t *testing.T) {
	const h, s = time.Hour, time.Second
	for _, c := range []struct {
		name  string
		looks [][3]time.Duration // the monotonic clock, the sum of all steps of the wall clock, the lag
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
			d := newDoubt(exactly(7*h, 0))
			for _, look := range c.looks {
				if d.look(exactly(7*h+look[1], look[0])); d.lag() != look[2] {
					t.Errorf("at %v, set by %v: it lags by %v, want %v", look[0], look[1], d.lag(), look[2])
				}
			}
		})
	}
}

// A clock that is set again and again is still followed, and the memory for its
// steps is bounded.
func TestEachStepIsBelievedHoweverManyFollow(t *testing.T) {
	const by = time.Minute
	for _, every := range []time.Duration{time.Second, 10 * time.Second, time.Minute, Lasts - 1} {
		d := newDoubt(reading{})
		for i := range time.Duration(2000) {
			d.look(exactly((i+1)*by, (i+1)*every))
			if most := (2*Lasts/every + 1) * by; d.lag() > most || d.lag() < by || len(d.steps) > maxSteps {
				t.Fatalf("after %d steps, %v apart: it lags by %v, at most %v, with %d in doubt", i+1, every, d.lag(), most, len(d.steps))
			}
		}
	}
}

// A server's clock is unknown for a while, and its bounds widen. Readings
// continue all the time.
func TestTimeWithoutNewsIsNoStep(t *testing.T) {
	const every = time.Second
	for _, away := range []time.Duration{time.Minute, 17 * time.Minute, 2 * time.Hour, 30 * time.Hour} {
		for _, c := range []struct {
			name string
			set  time.Duration
			step bool
		}{
			{"not set", 0, false},
			{"a sound clock that went fast", away / (drift + 1), false},
			{"a sound clock that went slowly", -away / (drift + 1), false},
			{"set ahead", 10*time.Second + 3*away/drift, true},
			{"set ahead by 24 h", 24 * time.Hour, true},
			{"set back", -24 * time.Hour, false},
		} {
			t.Run(fmt.Sprint(away, ", ", c.name), func(t *testing.T) {
				d := newDoubt(exactly(0, 0))
				for at := time.Duration(0); at < away; at += every {
					if ahead := d.look(reading{at, -at / drift, at / drift}); ahead != 0 || d.lag() != 0 {
						t.Fatalf("after %v without news: a step of %v, and it lags by %v", at, ahead, d.lag())
					}
				}
				ahead := d.look(exactly(c.set, away))
				if most := c.set + away/drift + every; !c.step && (ahead != 0 || d.lag() != 0) || c.step && (ahead != d.lag() || ahead < c.set || ahead > most) {
					t.Errorf("a step of %v, and it lags by %v", ahead, d.lag())
				}
				d.look(exactly(c.set, away+Lasts))
				if d.lag() != 0 {
					t.Errorf("when it has lasted it lags by %v", d.lag())
				}
			})
		}
	}
}

// The wall clock steps between two readings. The trusted time must never show
// the step.
func TestTheTrustedTimeDoesNotStepWithTheWallClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for steps := range 8 {
			readings := 0
			c := New(func() time.Time {
				if readings++; readings > steps+1 {
					return time.Now().Add(time.Hour)
				}
				return time.Now()
			}, nil)
			for range 8 {
				if now := c.Now(); !now.Equal(time.Now()) {
					t.Errorf("a step after %d readings: it is %v ahead", steps, time.Until(now))
				}
			}
		}
	})
}

// Real clocks are never read at exactly the same moment.
func TestAStepIsNoticedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noticed := 0
		ahead := time.Duration(0)
		c := New(func() time.Time { return time.Now().Add(ahead) }, func(time.Duration) { noticed++ })
		ahead = time.Hour
		for range 100 {
			c.Now()
			ahead += time.Microsecond
		}
		if noticed != 1 {
			t.Errorf("noticed %d times", noticed)
		}
	})
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
		time.Sleep(time.Nanosecond)
		want(0)
		if len(noticed) != 1 || noticed[0] != 24*time.Hour {
			t.Errorf("noticed %v", noticed)
		}
	})
}
