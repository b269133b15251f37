package contender

import "testing"

func TestEachRoundVisitsEveryoneOnceAndNoOneWaitsLong(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 1000, 3001} {
		r := rounds{n: n}
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
