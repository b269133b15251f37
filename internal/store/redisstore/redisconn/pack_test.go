package redisconn

import (
	"testing"

	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
)

// The script put reads all records before it writes any of them.
func TestARunChangesNoRecordTwice(t *testing.T) {
	sh := keyspace.NewKeys(keyspace.DefaultPrefix, 0).Shards(1)[0]
	of := func(fields ...string) *write {
		w := &write{script: putOn, shard: sh}
		for _, f := range fields {
			w.items = append(w.items, &Item{Shard: sh, Field: f})
		}
		return w
	}
	runs := pack([]*write{of("ns/a", "ns/b"), of("ns/c"), of("ns/b"), of("ns/a"), of("ns/b")})
	var got []int
	for _, r := range runs {
		met := map[string]bool{}
		for _, w := range r.writes {
			for _, it := range w.items {
				if met[it.Field] {
					t.Errorf("a run has two items for %s", it.Field)
				}
				met[it.Field] = true
			}
		}
		got = append(got, r.items)
	}
	if len(got) != 3 || got[0] != 3 || got[1] != 2 || got[2] != 1 {
		t.Errorf("the runs have %v items, not [3 2 1]", got)
	}
}

func TestItemsOfAShardShareARun(t *testing.T) {
	shards := keyspace.NewKeys(keyspace.DefaultPrefix, 0).Shards(16)
	items := make([]Item, 2*maxItems)
	for i := range items {
		items[i].Shard = shards[i*7%16]
		items[i].With = i%5 == 4
	}
	at := map[int]int{}
	for place, i := range byShard(items) {
		at[i] = place
	}
	runs := map[*keyspace.Shard]map[int]bool{}
	for i, it := range items {
		if it.With {
			if at[i] != at[i-1]+1 {
				t.Fatalf("item %d is not behind the item on which it depends", i)
			}
			continue
		}
		if runs[it.Shard] == nil {
			runs[it.Shard] = map[int]bool{}
		}
		runs[it.Shard][at[i]/maxItems] = true
	}
	split := 0
	for _, in := range runs {
		split += len(in) - 1
	}
	if split > 1 {
		t.Errorf("%d shards are in both runs", split)
	}
}
