package redisstore

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/storetest"
	"github.com/foliot/foliot/internal/task"
)

// aclFile writes the rule for the user in docs/redis.md into a file for
// redis-server, for a store with that prefix. It returns the path.
func aclFile(t *testing.T, prefix string) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/redis.md")
	fatal.If(t, err)
	_, rule, _ := strings.Cut(string(page), "\nACL SETUSER foliot ")
	rule, _, found := strings.Cut(rule, "\n")
	if !found {
		t.Fatal("docs/redis.md has no rule")
	}
	rule = strings.NewReplacer("~foliot:*", "~"+prefix+":*", "&foliot:*", "&"+prefix+":*").Replace(rule)
	path := filepath.Join(t.TempDir(), "users.acl")
	fatal.If(t, os.WriteFile(path, []byte("user default on nopass ~* &* +@all\nuser foliot "+rule+"\n"), 0o600))
	return path
}

// refusedNothing fails the test if the servers at addrs have refused a command
// of a user.
func refusedNothing(t *testing.T, addrs ...string) {
	t.Helper()
	for _, addr := range addrs {
		c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true})
		fatal.If(t, err)
		defer c.Close()
		refused, err := c.Do(t.Context(), c.B().Arbitrary("ACL", "LOG").Build()).ToArray()
		fatal.If(t, err)
		for _, one := range refused {
			entry, err := one.AsMap()
			fatal.If(t, err)
			what := entry["object"]
			name, _ := what.ToString()
			t.Errorf("the Redis at %s refused %q", addr, name)
		}
	}
}

func TestTheDocumentedRightsAreEnoughForTheUser(t *testing.T) {
	long(t)
	for _, prefix := range []string{keyspace.DefaultPrefix, "shop"} {
		t.Run(prefix, func(t *testing.T) {
			r := redistest.New(t, "--aclfile", aclFile(t, prefix))
			storetest.Run(t, func(t *testing.T) store.Store {
				empty(t, r.Addr)
				s, err := Open(t.Context(), Config{
					Client: asUser(r.Addr),
					Prefix: prefix,
					Shards: 8,
					Shared: store.Shared{Policy: storetest.Policy, AuditKeep: storetest.AuditKeep, CallersClock: true},
				})
				fatal.If(t, err)
				return s
			})
			refusedNothing(t, r.Addr)
		})
	}
}

// The prefix is not the usual one, so a key or channel with the usual prefix would
// be refused.
func TestNodesNeedNoMoreRightsInACluster(t *testing.T) {
	t.Parallel()
	const prefix = "shop"
	c := redistest.NewCluster(t, 3, 0, "--aclfile", aclFile(t, prefix))
	var nodes []*Store
	for _, name := range []string{"a", "b"} {
		s, err := Open(t.Context(), Config{Client: asUser(c.Addrs()...), Prefix: prefix, Shards: 16, ShardLease: 1500 * time.Millisecond, Heartbeat: 200 * time.Millisecond, Shared: store.Shared{Node: name}})
		fatal.If(t, err)
		defer func() { _ = s.Close() }()
		nodes = append(nodes, s)
	}
	eventually(t, "each node has its part", func() bool { return divided(nodes...) })
	var mu sync.Mutex
	heard := map[string]bool{}
	for _, s := range nodes {
		s.Watch(store.Watcher{Tasks: func(entries []task.Entry) {
			mu.Lock()
			defer mu.Unlock()
			for _, e := range entries {
				heard[e.Name] = true
			}
		}})
	}
	soon(t, nodes[0], "task-", 50, 100*time.Millisecond)
	eventually(t, "each task is known to its node", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(heard) == 50
	})
	for _, s := range nodes {
		ask := store.PermitAsk{PermitScope: store.PermitScope{Namespace: task.DefaultNamespace, Queue: "q"}, Concurrency: 1, Want: 1, Rate: 1, Burst: 1, Tokens: 1}
		if replies := s.Permit(t.Context(), []store.PermitAsk{ask}); replies[0].Err != nil {
			t.Error(replies[0].Err)
		}
	}
	nodes[0].Release()
	if _, err := nodes[1].Scrub(t.Context(), task.FloorMillis(time.Now()), "", 1000); err != nil {
		t.Error(err)
	}
	eventually(t, "the other node has all", func() bool { return divided(nodes[1]) })
	refusedNothing(t, c.Addrs()...)
}

func asUser(addrs ...string) rueidis.ClientOption {
	return rueidis.ClientOption{InitAddress: addrs, DisableCache: true, Username: "foliot", Password: "PASSWORD", ClientName: "foliot"}
}
