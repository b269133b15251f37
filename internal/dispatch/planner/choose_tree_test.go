package planner

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestAWaitTreeFindsTheFirstNodeThatMayRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r waitTree[int]
		nodes := make([]node[int], 12)
		small := rapid.Int32Range(0, 5)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			i := rapid.IntRange(0, len(nodes)-1).Draw(t, "node")
			need := neverFits
			if rapid.IntRange(0, 3).Draw(t, "in") > 0 {
				if class := rapid.IntRange(0, int(share)+1).Draw(t, "class"); class <= int(share) {
					need.slots[class] = small.Draw(t, "need")
				} else {
					need.kinds = 1 << small.Draw(t, "kind")
				}
			}
			o := rank{since: int64(small.Draw(t, "rank")), lastPick: uint64(small.Draw(t, "last pick")), number: uint64(i)}
			r.put(&nodes[i], o, need)

			left := cost{kinds: uint64(small.Draw(t, "kinds left"))}
			for i := range left.slots {
				left.slots[i] = small.Draw(t, "left")
			}
			if got, want := r.first(&left), firstOf(nodes, &left); got != want {
				t.Fatalf("found %+v, want %+v", got, want)
			}
			if (r.first(&left) != nil) != r.minCost().fit(&left) {
				t.Fatalf("the sum %v says otherwise than first", r.minCost())
			}
		}
	})
}

// firstOf looks at every node.
func firstOf(nodes []node[int], left *cost) *node[int] {
	var fit []*node[int]
	for i := range nodes {
		if nodes[i].inTree && nodes[i].cost.fit(left) {
			fit = append(fit, &nodes[i])
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return slices.MinFunc(fit, func(a, b *node[int]) int {
		if a.before(b.rank) {
			return -1
		}
		return 1
	})
}

func TestAWaitTreeStaysShallow(t *testing.T) {
	var r waitTree[int]
	const n = 1 << 14
	for i := range n { // the worst input for a tree that does not balance itself
		r.put(&node[int]{}, rank{since: int64(i), number: uint64(i)}, cost{})
	}
	if d := depth(r.root); d > 60 {
		t.Errorf("%d nodes stand %d deep", n, d)
	}
}

func depth(s *node[int]) int {
	if s == nil {
		return 0
	}
	return 1 + max(depth(s.left), depth(s.right))
}
