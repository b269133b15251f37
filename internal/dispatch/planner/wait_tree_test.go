package planner

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestARowFindsTheFirstThatMayRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r row[int]
		seats := make([]seat[int], 12)
		small := rapid.Int32Range(0, 5)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			i := rapid.IntRange(0, len(seats)-1).Draw(t, "seat")
			need := nobody
			if rapid.IntRange(0, 3).Draw(t, "in") > 0 {
				need[rapid.IntRange(0, int(share)).Draw(t, "class")] = small.Draw(t, "need")
			}
			o := order{rank: int64(small.Draw(t, "rank")), turn: uint64(small.Draw(t, "turn")), number: uint64(i)}
			r.put(&seats[i], o, need)

			left := needs{small.Draw(t, "left"), small.Draw(t, "left"), small.Draw(t, "left"), small.Draw(t, "left")}
			if got, want := r.first(left), firstOf(seats, left); got != want {
				t.Fatalf("found %+v, want %+v", got, want)
			}
			if (r.first(left) != nil) != r.needs().fit(left) {
				t.Fatalf("the sum %v says otherwise than first", r.needs())
			}
		}
	})
}

// firstOf looks at every seat.
func firstOf(seats []seat[int], left needs) *seat[int] {
	var fit []*seat[int]
	for i := range seats {
		if seats[i].seated && seats[i].need.fit(left) {
			fit = append(fit, &seats[i])
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return slices.MinFunc(fit, func(a, b *seat[int]) int {
		if a.before(b.order) {
			return -1
		}
		return 1
	})
}

func TestARowStaysShallow(t *testing.T) {
	var r row[int]
	const n = 1 << 14
	for i := range n { // the worst there is for a tree that does not balance itself
		r.put(&seat[int]{}, order{rank: int64(i), number: uint64(i)}, needs{})
	}
	if d := depth(r.root); d > 60 {
		t.Errorf("%d seats stand %d deep", n, d)
	}
}

func depth(s *seat[int]) int {
	if s == nil {
		return 0
	}
	return 1 + max(depth(s.left), depth(s.right))
}
