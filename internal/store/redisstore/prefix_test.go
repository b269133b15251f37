package redisstore

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// TestStoresWithDifferentPrefixesShareNothing opens two stores in one Redis. Each
// owns all of its shards, and neither knows the tasks, nodes and settings of the
// other. The loss of one does not close the other.
func TestStoresWithDifferentPrefixesShareNothing(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	shop, usual := openNodeWith(t, Config{Prefix: "shop", Shared: store.Shared{Node: "a"}}, r.Addr), openNode(t, "a", r.Addr)
	for _, s := range []*Store{shop, usual} {
		eventually(t, "each node owns all shards", func() bool { return divided(s) })
	}
	soon(t, shop, "task-", 20, time.Hour)
	key := task.Key{Namespace: task.DefaultNamespace, Name: "task-0"}
	if _, err := shop.Get(t.Context(), key); err != nil {
		t.Errorf("the store with the task: %v", err)
	}
	if _, err := usual.Get(t.Context(), key); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("the other store: %v, want ErrNotFound", err)
	}
	ask := store.PermitAsk{PermitScope: store.PermitScope{Namespace: task.DefaultNamespace, Queue: "q"}, Concurrency: 1, Want: 1}
	for _, s := range []*Store{shop, usual} {
		if got := s.Permit(t.Context(), []store.PermitAsk{ask})[0]; got.Err != nil || got.Held != 1 {
			t.Errorf("each store has the one permit of its queue: %+v", got)
		}
		nodes, err := s.Nodes(t.Context())
		if err != nil || len(nodes) != 1 {
			t.Errorf("nodes: %v, %v", nodes, err)
		}
	}

	for key := range strings.FieldsSeq(redis(t, r, "EVAL", "return table.concat(redis.call('KEYS', '*'), ' ')", "0")) {
		if !strings.HasPrefix(key, "shop:") && !strings.HasPrefix(key, "foliot:") && !strings.HasPrefix(key, "$") {
			t.Errorf("the key %s has no prefix", key)
		}
	}
	redis(t, r, "EVAL", "for _, key in ipairs(redis.call('KEYS', 'shop:*')) do redis.call('DEL', key) end return 1", "0")
	eventually(t, "the lost store is closed", func() bool { return shop.identity.Lost() != nil })
	if lost := usual.identity.Lost(); lost != nil {
		t.Errorf("the other store is closed as well: %v", lost)
	}
}

func TestRemoveTakesTheKeysOfOneStoreAlone(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	c := Config{Prefix: "demo-1", Client: rueidis.ClientOption{InitAddress: []string{r.Addr}, DisableCache: true}}
	s, err := Open(t.Context(), c)
	fatal.If(t, err)
	fatal.If(t, apply(t, s, order("a")))
	fatal.If(t, s.Close())
	redis(t, r, "SET", "demo-10:other", "kept")
	fatal.If(t, Remove(t.Context(), c))
	if keys, err := redistest.Command(t.Context(), r.Addr, "DBSIZE"); err != nil || keys != ":1" {
		t.Errorf("%s keys are left, %v", keys, err)
	}
}
