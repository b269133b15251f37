package api

import (
	"math/rand/v2"
	"testing"
	"time"
)

// In any period, callers take at most the burst and the units that flowed in. A
// caller that waits as long as it must gets a unit.
func TestABucketGivesNoMoreThanFlowsIn(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		rate, burst := []float64{1e-5, 0.5, 1, 3, 50, 1e6}[r.IntN(6)], float64(1+r.IntN(20))
		start := time.Unix(1_700_000_000, 0)
		now, total := start, 0
		var b bucket
		for range 500 {
			n := 1 + r.IntN(5)
			taken, wait := b.take(now, n, rate, burst)
			total += taken
			if most := burst + now.Sub(start).Seconds()*rate; float64(total) > most+1e-3 {
				t.Fatalf("seed %d: %d taken, where there were %v", seed, total, most)
			}
			if (taken < n) != (wait > 0) || taken < 0 {
				t.Fatalf("seed %d: %d of %d taken, wait %v", seed, taken, n, wait)
			}
			if wait > 0 && wait < 24*time.Hour && b.wait(now.Add(wait), rate, burst) != 0 {
				t.Fatalf("seed %d: no unit after the wait of %v", seed, wait)
			}
			now = now.Add(time.Duration(r.ExpFloat64() / rate * 2 * float64(time.Second)))
		}
	}
}

func TestABucketWhoseClockStepsBackGivesNothing(t *testing.T) {
	var b bucket
	now := time.Unix(1_700_000_000, 0)
	b.take(now, 10, 1, 10)
	if taken, _ := b.take(now.Add(-time.Hour), 1, 1, 10); taken != 0 {
		t.Error("a step back filled it")
	}
	if taken, _ := b.take(now.Add(time.Second), 2, 1, 10); taken != 1 {
		t.Errorf("%d after a second, want 1", taken)
	}
}
