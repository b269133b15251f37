package lowwater

import (
	"fmt"
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
			"new": func(*rapid.T) { members = append(members, g.New()) },
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

// A lane with one task among 256 parts of an index that have 100,000 such
// lanes.
func BenchmarkBeginInManyParts(b *testing.B) {
	const parts, lanes = 256, 100_000
	g, sets := NewGroup(), make([]*Set, parts)
	for i := range sets {
		sets[i] = g.New()
	}
	keys := make([]task.Lane, lanes)
	for i := range keys {
		keys[i] = task.Lane{Namespace: "acme", Queue: "default", Destination: fmt.Sprintf("host-%d.example:443", i)}
		sets[i%parts].Added([]task.Entry{{Lane: keys[i]}})
	}
	read := func(key task.Lane, among []*Set) {
		for _, s := range among {
			if has(s, key) {
				s.End(key, Finding{})
			}
		}
	}
	b.Run("each-set", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			read(keys[i*7919%lanes], sets)
		}
	})
	b.Run("group", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			key := keys[i*7919%lanes]
			read(key, g.Having(key))
		}
	})
}
