package redisstore

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/identity"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// redis sends a command that must not fail, and returns its reply.
func redis(t *testing.T, s *redistest.Server, words ...string) string {
	t.Helper()
	reply, err := redistest.Command(t.Context(), s.Addr, words...)
	if err != nil || strings.HasPrefix(reply, "-") {
		t.Fatalf("%v: %s, %v", words, reply, err)
	}
	return reply
}

// known is a node with its log, on a store that has tokens and a task that is
// due.
type known struct {
	*Store
	log      *lockedBuffer
	unsecure atomic.Int64 // how often settings without tokens were seen
	due      []*task.Task
}

func knownNode(t *testing.T, c Config, addrs ...string) *known {
	t.Helper()
	k := &known{log: &lockedBuffer{}}
	c.Logger = slog.New(slog.NewTextHandler(k.log, nil))
	k.Store = openNodeWith(t, c, addrs...)
	eventually(t, "it owns the shards", func() bool { return divided(k.Store) })
	secure(t, k.Store)
	k.Watch(store.Watcher{Settings: func(s *settings.Settings) {
		if !s.Secured() {
			k.unsecure.Add(1)
		}
	}})
	k.due = soon(t, k.Store, "due", 20, -time.Minute)
	return k
}

func secure(t *testing.T, s *Store) {
	t.Helper()
	_, hash := settings.MintToken()
	edit(t, s, 1, settings.AddToken{Namespace: settings.AllNamespaces, Scope: settings.ScopeAdmin, Hash: hash})
}

// refuses fails the test unless the node refuses every kind of request.
func (k *known) refuses(t *testing.T, kind error) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	spec := specOf("new", task.CeilMillis(time.Now()))
	for what, call := range map[string]func() error{
		"create": func() error {
			_, err := k.Transit(ctx, task.CeilMillis(time.Now()), store.Changes([]task.Change{task.Create{Spec: spec}}))
			return err
		},
		"create with a key": func() error {
			_, err := k.Transit(ctx, task.CeilMillis(time.Now()), store.Changes([]task.Change{task.Create{Spec: spec, Idempotency: &task.Idempotency{Key: strings.Repeat("k", 64), Fingerprint: "f"}}}))
			return err
		},
		"configure": func() error {
			_, err := k.Configure(ctx, 1, []settings.Edit{settings.PauseQueue{Namespace: task.DefaultNamespace, Name: "q", Paused: true}})
			return err
		},
	} {
		if err := call(); !errors.Is(err, kind) || !errors.Is(err, task.ErrUnavailable) {
			t.Errorf("%s: %v, want %v", what, err, kind)
		}
	}
	replies, err := k.Transit(ctx, task.FloorMillis(time.Now()), store.Claims(claimsOf('k', k.due)))
	for _, r := range replies {
		if r.Err == nil {
			t.Errorf("it claimed %s", r.Task.Name)
		}
	}
	if len(replies) == 0 && !errors.Is(err, kind) {
		t.Errorf("claim: %v, want %v", err, kind)
	}
}

// closes fails the test unless the node closes, stays closed, and never
// shows settings without tokens.
func (k *known) closes(t *testing.T, kind error) {
	t.Helper()
	eventually(t, "it has noticed", func() bool { return errors.Is(k.Standing().Err, kind) })
	k.refuses(t, kind)
	eventually(t, "it owns nothing", func() bool { return k.Standing().Owned == 0 && k.identity.Lost() != nil })
	if !k.Standing().Settings.Secured() || k.unsecure.Load() > 0 {
		t.Error("it shows settings that let strangers in")
	}
	eventually(t, "the log says so", func() bool { return k.log.count("the store is closed") > 0 })
	if n := k.log.count("the store is closed"); n != 1 {
		t.Errorf("the log says %d times that the store is closed", n)
	}
}

// This covers the loss of one server, and an earlier node that must stay closed
// and must not write anything back.
func TestANodeClosesWhenItsRedisIsEmptiedOrReplaced(t *testing.T) {
	quick.Leave(t, "starts several servers")
	for name, c := range map[string]struct {
		lose  func(*testing.T, *redistest.Server)
		kind  error
		empty bool // no part may be left afterwards
	}{
		"DEL of the settings":           {func(t *testing.T, r *redistest.Server) { redis(t, r, "DEL", storeKeys.Settings) }, task.ErrSettingsLost, false},
		"the tokens alone are gone":     {dropTokens, task.ErrSettingsLost, false},
		"FLUSHALL":                      {func(t *testing.T, r *redistest.Server) { redis(t, r, "FLUSHALL") }, task.ErrStoreReplaced, true},
		"DEL of the format":             {func(t *testing.T, r *redistest.Server) { redis(t, r, "DEL", storeKeys.Meta) }, task.ErrStoreReplaced, false},
		"DEL of one shard":              {func(t *testing.T, r *redistest.Server) { redis(t, r, "DEL", storeKeys.Shards(16)[11].Own) }, task.ErrStoreReplaced, false},
		"restarted empty":               {func(t *testing.T, r *redistest.Server) { r.Kill(); restart(t, r, "--dir", t.TempDir()) }, task.ErrStoreReplaced, true},
		"another installation is there": {anotherStore, task.ErrStoreReplaced, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := redistest.New(t)
			k := knownNode(t, Config{Shared: store.Shared{Node: "k"}}, r.Addr)
			other := sharingNode(t, k, r.Addr)
			c.lose(t, r)
			if c.empty {
				k.refuses(t, c.kind) // at once, even if it has not noticed yet
			}
			k.closes(t, c.kind)
			eventually(t, "the other node has noticed, too", func() bool { return errors.Is(other.Standing().Err, c.kind) })
			if c.empty {
				<-time.After(3 * k.config.Heartbeat) // long enough for many writes of the node
				if n := redis(t, r, "DBSIZE"); n != ":0" {
					t.Errorf("the nodes wrote %s keys into an emptied Redis: %s", n, redis(t, r, "RANDOMKEY"))
				}
			}
		})
	}
}

// A write that waits for a replica is followed by a seal, which writes a key of
// its own.
func TestAWriteThatWaitsForAReplicaLeavesNoKeyInAnEmptiedRedis(t *testing.T) {
	p := newPair(t)
	s := openLevel(t, redisconn.Default, p.master.Addr)
	redis(t, p.master, "FLUSHALL")
	if err := apply(t, s, order("one")); !errors.Is(err, task.ErrStoreReplaced) {
		t.Errorf("a create: %v, want %v", err, task.ErrStoreReplaced)
	}
	if _, err := s.servers.Confirm(t.Context(), s.shards); redisconn.LossOf(err) == nil {
		t.Errorf("a confirmation: %v, want the loss of the store", err)
	}
	if n := redis(t, p.master, "DBSIZE"); n != ":0" {
		t.Errorf("the emptied Redis has keys: %s, such as %s", n, redis(t, p.master, "RANDOMKEY"))
	}
}

// Each kind of write that waits for a replica must name the hash with its own
// identity.
func TestEachWriteThatWaitsForAReplicaNamesItsIdentity(t *testing.T) {
	s := openLevel(t, Default, newPair(t).master.Addr)
	if err := apply(t, s, order("one")); err != nil {
		t.Error("a create:", err)
	}
	if _, err := s.servers.Confirm(t.Context(), s.shards); err != nil {
		t.Error("a confirmation:", err)
	}
	if err := decideOn(t, s, settings.PauseQueue{Namespace: task.DefaultNamespace, Name: "q", Paused: true}); err != nil {
		t.Error("an edit of the settings:", err)
	}
	var missing *settings.MissingError
	if err := s.drainNode(t, store.Drain{Node: "absent"}); !errors.As(err, &missing) {
		t.Errorf("a drain of a node that does not exist: %v", err)
	}
	if err := s.Standing().Err; err != nil {
		t.Error("the store is closed:", err)
	}
}

// sharingNode opens a second node next to k. It asks for its share of the
// shards.
func sharingNode(t *testing.T, k *known, addr string) *Store {
	t.Helper()
	other := openNode(t, "other", addr)
	eventually(t, "they share the shards", func() bool { return divided(k.Store, other) })
	return other
}

func restart(t *testing.T, r *redistest.Server, args ...string) {
	t.Helper()
	fatal.If(t, r.Restart(args...))
}

// dropTokens replaces the settings with others that have a queue and no tokens.
func dropTokens(t *testing.T, r *redistest.Server) {
	redis(t, r, "DEL", storeKeys.Settings)
	redis(t, r, "HSET", storeKeys.Settings, keyspace.VersionField, "another", "1/default/q", `{"namespace":"default","name":"q"}`)
}

// anotherStore puts another installation there, with its own tokens.
func anotherStore(t *testing.T, r *redistest.Server) {
	redis(t, r, "FLUSHALL")
	fresh := openNode(t, "fresh", r.Addr) // to that installation an empty Redis is new
	secure(t, fresh)
}

func TestANodeClosesWhenAnEmptyReplicaIsPromoted(t *testing.T) {
	s := redistest.NewSentinels(t)
	c := Config{Shared: store.Shared{Node: "k"}}
	c.Client.Sentinel = rueidis.SentinelOption{MasterSet: redistest.MasterName}
	k := knownNode(t, c, s.Sentinels[0].Addr, s.Sentinels[1].Addr, s.Sentinels[2].Addr)
	redis(t, s.Servers[0], "ACL", "SETUSER", "default", "-psync", "-sync")
	redis(t, s.Servers[0], "CLIENT", "KILL", "TYPE", "replica")
	for _, r := range s.Servers[1:] {
		redis(t, r, "CONFIG", "SET", "replica-read-only", "no")
		redis(t, r, "FLUSHALL")
	}
	s.Servers[0].Kill()
	eventually(t, "one of them is the master", func() bool { return s.Master(t.Context()) > 0 })
	eventually(t, "it has noticed", func() bool { return errors.Is(k.Standing().Err, task.ErrStoreReplaced) })
	k.closes(t, task.ErrStoreReplaced)
}

func TestEveryNodeClosesWhenOneMasterOfAClusterIsLost(t *testing.T) {
	cluster := redistest.NewCluster(t, 3, 0)
	k := knownNode(t, Config{Shared: store.Shared{Node: "k"}}, cluster.Addrs()...)
	other := openNode(t, "other", cluster.Addrs()...)
	lost := 0 // the master without the settings and the format
	for _, key := range []string{storeKeys.Meta, storeKeys.Settings} {
		for i, r := range cluster.Servers {
			if redis(t, r, "CLUSTER", "COUNTKEYSINSLOT", redis(t, r, "CLUSTER", "KEYSLOT", key)[1:]) != ":0" && lost == i {
				lost++
			}
		}
	}
	if lost > 2 {
		lost = 0
	}
	cluster.Servers[lost].Kill()
	restart(t, cluster.Servers[lost], "--appendonly", "no")
	fatal.If(t, cluster.Await(t.Context()))
	k.closes(t, task.ErrStoreReplaced)
	eventually(t, "the other node has noticed, too", func() bool { return errors.Is(other.Standing().Err, task.ErrStoreReplaced) })

	c := Config{Client: rueidis.ClientOption{InitAddress: cluster.Addrs(), DisableCache: true}, Unsafe: true, ShardLease: 1500 * time.Millisecond, Heartbeat: 200 * time.Millisecond}
	if _, err := Open(t.Context(), c); !errors.Is(err, task.ErrStoreReplaced) {
		t.Fatalf("a server that is started opens a store that is lost in part: %v", err)
	}
	found, err := AcceptLoss(t.Context(), c, func(*identity.Found) error { return nil })
	if err != nil || found.Whole() {
		t.Fatal(found, err)
	}
	redis(t, cluster.Servers[lost], "CONFIG", "SET", "appendonly", "yes") // it is unfit otherwise
	eventually(t, "both go on with what is left", func() bool { return k.Standing().Err == nil && other.Standing().Err == nil && divided(k.Store, other) })
	soon(t, k.Store, "after", 20, time.Hour)
	if found, err = AcceptLoss(t.Context(), c, nil); err != nil || !found.Whole() {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestANodeContinuesWhenItsStoreIsBack(t *testing.T) {
	quick.Leave(t, "waits for an outage")
	r := redistest.New(t)
	k := knownNode(t, Config{Shared: store.Shared{Node: "k"}}, r.Addr)
	for _, key := range []string{storeKeys.Settings, storeKeys.Meta} {
		redis(t, r, "RENAME", key, key+"kept")
		eventually(t, "it has noticed", func() bool { return k.Standing().Err != nil })
		redis(t, r, "RENAME", key+"kept", key)
		eventually(t, "it goes on", func() bool { return k.Standing().Err == nil && divided(k.Store) })
	}
	soon(t, k.Store, "after", 5, time.Hour)
	if n := k.log.count("the store is open again"); n != 2 {
		t.Errorf("the log says %d times that it goes on, not twice", n)
	}
}

func TestAStartRefusesAPartlyLostStoreUntilTheLossIsAccepted(t *testing.T) {
	for name, c := range map[string]struct {
		key   string
		kind  error
		shows string
	}{
		"the settings": {storeKeys.Settings, task.ErrSettingsLost, ""},
		"the format":   {storeKeys.Meta, task.ErrStoreReplaced, storeKeys.Meta},
		"a shard":      {storeKeys.Shards(16)[3].Own, task.ErrStoreReplaced, "shard 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := redistest.New(t)
			k := knownNode(t, Config{Shared: store.Shared{Node: "k"}}, r.Addr)
			_ = k.Close()
			redis(t, r, "DEL", c.key)
			config := Config{Client: rueidis.ClientOption{InitAddress: []string{r.Addr}, DisableCache: true}, ShardLease: 1500 * time.Millisecond, Heartbeat: 200 * time.Millisecond, Shared: store.Shared{Node: "k"}}
			if s, err := Open(t.Context(), config); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), "foliot redis accept-loss") {
				t.Fatal(s, err)
			}
			no := errors.New("no")
			if _, err := AcceptLoss(t.Context(), config, func(*identity.Found) error { return no }); !errors.Is(err, no) {
				t.Fatal(err)
			}
			if _, err := Open(t.Context(), config); !errors.Is(err, c.kind) {
				t.Fatal("a loss that was not accepted is gone:", err)
			}
			found, err := AcceptLoss(t.Context(), config, func(*identity.Found) error { return nil })
			if err != nil || !strings.Contains(strings.Join(found.Lost, " "), c.shows) {
				t.Fatal(found, err)
			}
			s, err := Open(t.Context(), config)
			fatal.If(t, err)
			defer func() { _ = s.Close() }()
			if s.servers.Identity != k.servers.Identity || len(s.shards) != 16 {
				t.Errorf("it has the identity %s and %d shards, not %s and 16", s.servers.Identity, len(s.shards), k.servers.Identity)
			}
		})
	}
}

// unconfirmed removes the identity from each part of a store, as if no replica
// had received it there.
func unconfirmed(t *testing.T, r *redistest.Server, s *Store) {
	t.Helper()
	redis(t, r, "HDEL", storeKeys.Meta, "whole")
	redis(t, r, "DEL", storeKeys.SettingsID, storeKeys.NodesID)
	for _, sh := range s.shards {
		redis(t, r, "HDEL", sh.Own, "store")
	}
}

// A replica that never received the identity takes over. The store is there, so
// the nodes go on.
func TestAFailoverBeforeTheIdentityWasReplicatedClosesNoNode(t *testing.T) {
	r := redistest.New(t)
	first := openNode(t, "first", r.Addr)
	soon(t, first, "kept", 20, time.Hour)
	_ = first.Close()
	unconfirmed(t, r, first)
	replica := redistest.NewReplica(t, r.Addr)
	replica.Pause() // so that it confirms nothing
	defer replica.Resume()
	k := knownNode(t, Config{Durability: redisconn.Async, Shared: store.Shared{Node: "k"}}, r.Addr)
	if k.log.count("closed") > 0 || redis(t, r, "HEXISTS", storeKeys.Meta, "whole") != ":0" {
		t.Fatal("the replica confirmed the identity")
	}
	unconfirmed(t, r, first)
	eventually(t, "the identity is there again", func() bool { return redis(t, r, "HEXISTS", storeKeys.Shards(16)[7].Own, "store") == ":1" })
	eventually(t, "it goes on", func() bool { return k.Standing().Err == nil && divided(k.Store) })
	if k.log.count("the store is closed") > 0 || redis(t, r, "HGET", storeKeys.Meta, "identity") != k.servers.Identity {
		t.Errorf("it was closed, or has another identity")
	}
}
