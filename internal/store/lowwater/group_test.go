package lowwater

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/foliot/foliot/internal/task"
)

// A group lists exactly the sets that have a lane, after any adds, empty reads
// and leaves.
func TestAGroupReturnsTheSetsThatHaveALane(t *testing.T) {
	lanes := []task.Lane{{Namespace: "a", Queue: "q"}, {Namespace: "a", Queue: "r"}, {Namespace: "b", Queue: "q"}}
	rapid.Check(t, func(t *rapid.T) {
		g := NewGroup()
		var members, gone []*Set
		draw := func(sets []*Set) *Set { return sets[rapid.IntRange(0, len(sets)-1).Draw(t, "set")] }
		t.Repeat(map[string]func(*rapid.T){
			"new": func(*rapid.T) { members = append(members, g.New(0)) },
			"add": func(*rapid.T) {
				if all := slices.Concat(members, gone); len(all) > 0 { // a set may still get entries after it left
					draw(all).Added([]task.Entry{{Lane: rapid.SampledFrom(lanes).Draw(t, "lane")}})
				}
			},
			"empty": func(*rapid.T) {
				key := rapid.SampledFrom(lanes).Draw(t, "lane")
				if all := slices.Concat(members, gone); len(all) > 0 {
					if s := draw(all); has(s, key) {
						s.End(key, Finding{Conclusive: true, Empty: true})
					}
				}
			},
			"leave": func(*rapid.T) {
				if len(members) > 0 {
					s := draw(members)
					s.Leave()
					members = slices.DeleteFunc(members, func(other *Set) bool { return other == s })
					gone = append(gone, s)
				}
			},
			"": func(t *rapid.T) {
				for _, key := range lanes {
					found := g.Having(key)
					for i, s := range members {
						_, there := s.m[key]
						if n := count(found, s); n > 1 || (n == 1) != there {
							t.Fatalf("set %d is named %d times for a lane that it has: %v", i, n, there)
						}
					}
					for _, s := range gone {
						if count(found, s) > 0 {
							t.Fatal("a set that left is named")
						}
					}
				}
			},
		})
	})
}

// has begins a read of a lane, and reports whether s has it.
func has(s *Set, key task.Lane) bool {
	_, ok := s.Begin(key)
	return ok
}

func count(sets []*Set, s *Set) (n int) {
	for _, other := range sets {
		if other == s {
			n++
		}
	}
	return n
}
