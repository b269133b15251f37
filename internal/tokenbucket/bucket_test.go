package tokenbucket

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
		var b Bucket
		for range 500 {
			n := 1 + r.IntN(5)
			taken, wait := b.Take(now, n, rate, burst)
			total += taken
			if most := burst + now.Sub(start).Seconds()*rate; float64(total) > most+1e-3 {
				t.Fatalf("seed %d: %d taken, where there were %v", seed, total, most)
			}
			if (taken < n) != (wait > 0) || taken < 0 {
				t.Fatalf("seed %d: %d of %d taken, wait %v", seed, taken, n, wait)
			}
			if wait > 0 && wait < 24*time.Hour && b.Wait(now.Add(wait), rate, burst) != 0 {
				t.Fatalf("seed %d: no unit after the wait of %v", seed, wait)
			}
			now = now.Add(time.Duration(r.ExpFloat64() / rate * 2 * float64(time.Second)))
		}
	}
}

func TestAStepBackOfTheClockDoesNotFillABucket(t *testing.T) {
	var b Bucket
	now := time.Unix(1_700_000_000, 0)
	b.Take(now, 10, 1, 10)
	if taken, _ := b.Take(now.Add(-time.Hour), 1, 1, 10); taken != 0 {
		t.Error("the step back filled the bucket")
	}
	if taken, _ := b.Take(now.Add(time.Second), 2, 1, 10); taken != 1 {
		t.Errorf("%d after a second, want 1", taken)
	}
}

func TestLaterCallsWaitForAnOverdrawnBucket(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for _, row := range []struct {
		n       int
		most    float64
		missing float64
		wait    time.Duration
	}{
		{n: 3, most: 20, missing: 3, wait: 0},
		{n: 10, most: 20, missing: 10, wait: time.Second},
		{n: 15, most: 20, missing: 15, wait: 6 * time.Second},
		{n: 1000, most: 20, missing: 20, wait: 11 * time.Second}, // at most this much is owed
	} {
		var b Bucket
		if missing := b.Overdraw(now, row.n, 1, row.most); missing != row.missing {
			t.Errorf("%v units missing after %d, want %v", missing, row.n, row.missing)
		}
		if wait := b.Wait(now, 1, 10); wait != row.wait {
			t.Errorf("after %d units the next one comes in %v, want %v", row.n, wait, row.wait)
		}
	}
}

func TestALowerLimitOfDebtForgivesNone(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var b Bucket
	b.Overdraw(now, 50, 1, 100)
	if missing := b.Overdraw(now, 1, 1, 20); missing != 50 {
		t.Errorf("%v units missing, want 50", missing)
	}
	if missing := b.missingAt(now.Add(50*time.Second), 1); missing != 0 {
		t.Errorf("%v units missing after the time in which 50 flow in", missing)
	}
}
