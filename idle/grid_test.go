package idle

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A driver that is late by up to a resolution, and now and then stalls; connections that are touched at random; each is judged
// at every step.
func TestNothingIsIdleBeforeItsTimeoutAndEverythingSoonAfter(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 4))
		g := grid{resolution: time.Duration(1 + r.Int64N(int64(time.Second)))}
		g.now = r.Uint64N(1 << 33) // so that the 32 bits of the touches wrap
		elapsed := g.place(g.now)
		timeout := time.Duration(1 + r.Int64N(int64(100*g.resolution)))

		touchedAt, touched := elapsed, uint32(g.now)
		spokenFrom := elapsed // since when the connection could speak without a stall
		for range 2000 {
			next := g.place(g.now + 1)
			late := time.Duration(r.Int64N(int64(g.resolution)) + 1)
			if r.IntN(300) == 0 {
				late += time.Duration(r.Int64N(int64(50 * g.resolution)))
			}
			taken := next + late
			if r.IntN(40) == 0 { // a touch at some time before the step is taken
				touchedAt = elapsed + time.Duration(r.Int64N(int64(taken-elapsed)))
				touched = uint32(g.now)
			}
			elapsed = taken
			if g.advance(elapsed) {
				spokenFrom = elapsed
			}
			silent := elapsed - max(touchedAt, spokenFrom)
			idle := g.now >= g.idleAt(touched, timeout)
			if idle && silent < timeout {
				t.Fatalf("seed %d: idle after %v of %v, resolution %v", seed, silent, timeout, g.resolution)
			}
			if !idle && silent > timeout+4*g.resolution {
				t.Fatalf("seed %d: not idle after %v of %v, resolution %v", seed, silent, timeout, g.resolution)
			}
		}
	}
}

func TestAStallGivesEverybodyAFullTimeout(t *testing.T) {
	g := grid{resolution: time.Second}
	for _, step := range []struct {
		elapsed time.Duration
		stalled bool
		now     uint64
		idle    bool // touched in step 0, with a timeout of 5 s
	}{
		{time.Second, false, 1, false},
		{3 * time.Second, false, 3, false}, // exactly a resolution late
		{6 * time.Second, true, 6, false},
		{time.Hour, true, 3600, false},
		{time.Hour + time.Second, false, 3601, false},
		{time.Hour + 3*time.Second, false, 3603, false},
		{time.Hour + 5*time.Second, false, 3605, false},
		{time.Hour + 6*time.Second, false, 3606, false},
		{time.Hour + 7*time.Second, false, 3607, true},
	} {
		if got := g.advance(step.elapsed); got != step.stalled || g.now != step.now {
			t.Errorf("at %v: stalled %v, step %d", step.elapsed, got, g.now)
		}
		if got := g.now >= g.idleAt(0, 5*time.Second); got != step.idle {
			t.Errorf("at %v: idle %v", step.elapsed, got)
		}
	}
}

func TestTimeNeverTakesAStepBack(t *testing.T) {
	g := grid{resolution: time.Second, now: 10, floor: 3}
	if g.advance(9*time.Second) || g.now != 10 || g.floor != 3 {
		t.Errorf("step %d, floor %d", g.now, g.floor)
	}
}
