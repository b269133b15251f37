package settings

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
)

// TestATreeIsASortedMapThatNeverChanges compares it with a map, and old trees with their earlier content.
func TestATreeIsASortedMapThatNeverChanges(t *testing.T) {
	type moment struct {
		tree  tree[int]
		model map[SettingKey]int
	}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		var now tree[int]
		model := map[SettingKey]int{}
		var moments []moment
		names := 1 << (2 + r.IntN(12))
		for i := range 6000 {
			key := SettingKey{SettingKind(r.IntN(3)), fmt.Sprint(r.IntN(3)), fmt.Sprint(r.IntN(names))}
			if r.IntN(5) < 1+3*(i/1000%2) { // grows and shrinks by turns
				now = now.remove(key)
				delete(model, key)
			} else {
				now = now.put(key, i)
				model[key] = i
			}
			if i == 3000 { // from here on, the tree is as if read from a store
				var entries []treeEntry[int]
				for k, v := range model {
					entries = append(entries, treeEntry[int]{k, -1}, treeEntry[int]{k, v})
				}
				now = newTree(entries)
			}
			if i%997 == 0 || i == 5999 {
				moments = append(moments, moment{now, maps.Clone(model)})
			}
		}
		for _, m := range moments {
			keys := slices.SortedFunc(maps.Keys(m.model), func(a, b SettingKey) int { return a.compare(&b) })
			if m.tree.size != len(keys) {
				t.Fatalf("seed %d: %d entries, want %d", seed, m.tree.size, len(keys))
			}
			for from := 0; from <= len(keys); from += 1 + len(keys)/7 {
				var first SettingKey
				if from < len(keys) {
					first = keys[from]
				} else {
					first = SettingKey{Kind: 9}
				}
				if rank := m.tree.rank(first); rank != from {
					t.Fatalf("seed %d: rank %d of entry %d", seed, rank, from)
				}
				at := from
				m.tree.walk(first, func(k SettingKey, v int) bool {
					if at >= len(keys) || k != keys[at] || v != m.model[k] {
						t.Fatalf("seed %d: entry %d is %v: %d", seed, at, k, v)
					}
					at++
					return true
				})
				if at != len(keys) {
					t.Fatalf("seed %d: the walk ended at %d of %d", seed, at, len(keys))
				}
			}
			for _, k := range keys {
				if v, ok := m.tree.get(k); !ok || v != m.model[k] {
					t.Fatalf("seed %d: %v is %d, %v", seed, k, v, ok)
				}
			}
			if _, ok := m.tree.get(SettingKey{5, "", ""}); ok {
				t.Fatal("found what was never put")
			}
		}
	}
}

// TestAnEditCostsTheSameHoweverManySettingsThereAre: the tokens and queues of
// some namespaces do not slow down the edits of others.
func TestAnEditCostsTheSameHoweverManySettingsThereAre(t *testing.T) {
	const namespaces, each = 10, 10_000
	var records []Setting
	for n := range namespaces {
		name := fmt.Sprint("n", n)
		records = append(records, &NamespaceSettings{Name: name, Version: 1})
		for i := range each {
			id := fmt.Sprintf("%08x%08x", n, i)
			records = append(records, &AccessToken{ID: id, Namespace: name, Hash: id, RevokedAt: 1, Parent: "a token"})
		}
	}
	allocated := func(edits func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		edits()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	const edits = 200
	four := func(s *Settings) {
		s = edit(t, t0, s, AddToken{Namespace: AllNamespaces, Scope: ScopeAdmin, Hash: mintHash()})
		for i := range edits {
			hash := mintHash()
			s = edit(t, t0, s, PutQueue{Queue: QueueSettings{Namespace: "default", Name: fmt.Sprint("q", i%10)}})
			s = edit(t, t0, s, AddToken{Namespace: "default", Scope: ScopeRead, Hash: hash})
			s = edit(t, t0, s, RevokeToken{Namespace: "default", ID: hash[:16], With: true})
			s = edit(t, t0, s, RevokeToken{Namespace: "n0", ID: records[1].Key().Name, With: true}) // again
		}
	}
	few, all := NewSettings(records[:each+1]...), NewSettings(records...)
	if bytes := allocated(func() { four(all) }) / edits; bytes > 128<<10 {
		t.Errorf("four edits allocate %d bytes", bytes)
	}
	for name, one := range map[string]func(*Settings) error{
		"a token in a full namespace": func(s *Settings) error {
			_, err := AddToken{Namespace: "n0", Scope: ScopeRead, Hash: mintHash()}.Apply(t0, s)
			return err
		},
		"forgotten tokens": func(s *Settings) error {
			_, err := ForgetTokens{[]SettingKey{records[1].Key()}}.Apply(t0, s)
			return err
		},
		"children": func(s *Settings) error {
			s.Descendants(records[1].(*AccessToken))
			return nil
		},
	} {
		own := allocated(func() { fatal.If(t, one(few)) })
		if bytes := allocated(func() { fatal.If(t, one(all)) }); bytes > 2*own {
			t.Errorf("%s: %d bytes are allocated, %d without other namespaces", name, bytes, own)
		}
	}
}
