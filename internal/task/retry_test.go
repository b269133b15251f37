package task

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBackoffStaysInItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := time.Duration(rapid.Int64Range(int64(minBackoff), int64(MaxDuration)).Draw(t, "min"))
		high := time.Duration(rapid.Int64Range(int64(low), int64(MaxDuration)).Draw(t, "max"))
		r := Retry{MinBackoff: low, MaxBackoff: high}
		id, n := rapid.String().Draw(t, "id"), rapid.IntRange(1, MaxAttemptsLimit).Draw(t, "n")
		wait := r.Backoff(id, n)
		if wait < low || wait > high {
			t.Fatalf("backoff %v, outside %v to %v", wait, low, high)
		}
		if again := r.Backoff(id, n); again != wait {
			t.Fatalf("%v, and then %v: it must be a pure function", wait, again)
		}
	})
}

func TestBackoffDoubles(t *testing.T) {
	r := Retry{MinBackoff: time.Second, MaxBackoff: time.Hour}
	b := time.Second
	for n := 1; n <= 20; n++ {
		low, high := max(b/2, r.MinBackoff), b
		for _, id := range []string{"a", "b", "c", "0192-77"} {
			if wait := r.Backoff(id, n); wait < low || wait > high {
				t.Errorf("wait %d of %q is %v, want %v to %v", n, id, wait, low, high)
			}
		}
		b = min(2*b, r.MaxBackoff)
	}
}

// TestBackoffSpreads: tasks that failed in one minute must not all come back in
// one minute.
func TestBackoffSpreads(t *testing.T) {
	r := Retry{MinBackoff: time.Second, MaxBackoff: 8 * time.Second}
	var buckets [8]int
	const n = 8000
	for range n {
		wait := r.Backoff(NewID(t0), 4) // 4 s to 8 s
		buckets[int((wait-4*time.Second)*8/(4*time.Second+1))]++
	}
	for i, got := range buckets {
		if got < n/8*8/10 || got > n/8*12/10 {
			t.Errorf("bucket %d of 8 has %d of %d", i, got, n)
		}
	}
}
