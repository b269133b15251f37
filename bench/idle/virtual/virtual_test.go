package virtual

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/bench/record"
)

func TestEachRoundVisitsEveryoneOnceAndNoOneWaitsLong(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 1000, 3001} {
		r := Rounds{N: n}
		last := make([]int64, n)
		for round := range int64(5) {
			seen := make([]bool, n)
			for k := range int64(n) {
				visit := round*int64(n) + k
				i := r.place(visit)
				if seen[i] {
					t.Fatalf("n = %d: %d is visited twice in round %d", n, i, round)
				}
				seen[i] = true
				if gap := visit - last[i]; round > 0 && gap > int64(n)*4/3+2 {
					t.Fatalf("n = %d: %d waits for %d visits", n, i, gap)
				}
				last[i] = visit
			}
		}
	}
}

func TestACrowdInUseIsNeverAskedAbout(t *testing.T) {
	for _, w := range []string{Near, Far} {
		synctest.Test(t, func(t *testing.T) {
			var got record.Values
			c := CrowdConfig{Connections: 2000, Watch: w, Every: 3 * time.Second, Window: 30 * time.Second}
			if err := new(Load).Crowd(c, &got); err != nil {
				t.Fatal(err)
			}
			if got[Asked] != 0 || got[Touches] != 20_000 || got[record.Bytes] <= 0 {
				t.Errorf("%s: %v", w, got)
			}
		})
	}
}

func TestAHerdGoesAndSoDoTheBystanders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, herd := range []int{0, 500} {
			var got record.Values
			c := HerdConfig{Herd: herd, Bystanders: 1000, Timeout: 2 * time.Second}
			if err := new(Load).Herd(c, &got); err != nil {
				t.Fatal(err)
			}
			if got[Open] != 0 || got[record.Early] != 0 || got[record.MaxMs] > 2*millis(c.resolution()) || got[record.P50Ms] <= 0 {
				t.Errorf("%v", got)
			}
		}
	})
}
