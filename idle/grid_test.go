package idle

import (
	"math/rand/v2"
	"testing"
	"time"
)

func (g *grid) idleAt(touched uint32, timeout time.Duration) uint64 {
	return max(g.past(touched), g.floor) + g.steps(timeout)
}

// The driver is late by up to a resolution and stalls now and then. Connections
// are touched at random. Each is checked at every step.
func TestAConnectionIsIdleAtItsTimeoutOrSoonAfter(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 4))
		g := grid{step: time.Duration(1 + r.Int64N(int64(time.Second)))}
		g.now = r.Uint64N(1 << 33) // the 32 bits of the touches wrap
		resolution := 2 * g.step
		elapsed := g.place(g.now)
		timeout := time.Duration(1 + r.Int64N(int64(100*resolution)))

		touchedAt, touched := elapsed, uint32(g.now)
		spokenFrom := elapsed // the start of the time without a stall
		for range 4000 {
			late := time.Duration(r.Int64N(int64(resolution)) + 1)
			if r.IntN(600) == 0 {
				late += time.Duration(r.Int64N(int64(50 * resolution)))
			}
			taken := g.place(g.now+1) + late
			if r.IntN(40) == 0 { // a touch before the step is taken
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
				t.Fatalf("seed %d: idle after %v of %v, resolution %v", seed, silent, timeout, resolution)
			}
			if !idle && silent > timeout+3*resolution { // a step that is a resolution late is the third of these
				t.Fatalf("seed %d: not idle after %v of %v, resolution %v", seed, silent, timeout, resolution)
			}
		}
	}
}

func TestTheGridNeverGoesBack(t *testing.T) {
	g := grid{step: time.Second, now: 10, floor: 3}
	if g.advance(9*time.Second) || g.now != 10 || g.floor != 3 {
		t.Errorf("step %d, floor %d", g.now, g.floor)
	}
}

func TestStepsOfTouchesAndOfHoldsAreCompletedAcrossTheWrap(t *testing.T) {
	for _, now := range []uint64{0, 5, 1 << 32, 1<<32 + 3, 1<<40 - 1} {
		g := grid{step: time.Second, now: now}
		for _, ago := range []uint64{0, 1, 4, farSteps} {
			if ago > now {
				continue
			}
			if got := g.past(uint32(now - ago)); got != now-ago {
				t.Errorf("at %d: %d steps ago is %d", now, ago, got)
			}
			if got := g.ahead(uint32(now + ago)); got != now+ago {
				t.Errorf("at %d: in %d steps is %d", now, ago, got)
			}
		}
		if got := g.past(uint32(now + 7)); got != now {
			t.Errorf("at %d: a touch from the future counts as %d", now, got)
		}
	}
}
