package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

var pauseDefault = settings.PauseQueue{Namespace: "default", Name: "default", Paused: true}

func confirmed(t *testing.T, s *Store, e settings.Edit) []string {
	t.Helper()
	left, err := s.awaitNodes(t.Context(), []settings.Edit{e})
	fatal.If(t, err)
	return left
}

// A node may begin what it had claimed until its claims end, even if it has lost
// its shards.
func TestConfirmNamesTheNodesThatCannotReadTheSettings(t *testing.T) {
	quick.Leave(t, "waits for leases")
	t.Parallel()
	addr := redistest.New(t).Addr
	proxy := redistest.NewProxy(t, addr)
	open := func(name, addr string) *Store {
		s, err := Open(t.Context(), Config{Shards: 4, Client: rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true}, Shared: store.Shared{Node: name}})
		fatal.If(t, err)
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	a, b, c := open("a", addr), open("b", proxy.Addr), open("c", addr)
	edit(t, a, a.now(), pauseDefault)
	if left := confirmed(t, a, pauseDefault); left != nil {
		t.Errorf("all nodes work, and %q have not confirmed", left)
	}
	for _, s := range []*Store{a, b, c} {
		if !s.Standing().Settings.Queue("default", "default").Paused {
			t.Errorf("%s has not read what it confirmed", s.config.Node)
		}
	}
	proxy.Freeze()
	resume := settings.PauseQueue{Namespace: "default", Name: "default"}
	edit(t, a, a.now(), resume)
	if left := confirmed(t, a, resume); !slices.Equal(left, []string{"b"}) {
		t.Errorf("%q have not confirmed, want b alone", left)
	}
	eventually(t, "b has lost its shards", func() bool { return divided(a, c) })
	if left := confirmed(t, a, resume); !slices.Equal(left, []string{"b"}) {
		t.Errorf("b has no shards, and %q have not confirmed, want b", left)
	}
	proxy.Thaw()
	eventually(t, "b confirms", func() bool { return confirmed(t, a, resume) == nil })
}

// The node was stopped while the queue was paused, and continues as if it had
// not been.
func TestANodeWithSettingsFromBeforeAPauseClaimsNothing(t *testing.T) {
	t.Parallel()
	addr := redistest.New(t).Addr
	a, b := openNode(t, "a", addr), openNode(t, "b", addr)
	eventually(t, "both own shards", func() bool { return divided(a, b) })
	b.claimAll(t, soon(t, a, "before", 64, 0))
	stale := b.settings.Load()
	edit(t, a, a.now(), pauseDefault)
	if left := confirmed(t, a, pauseDefault); left != nil {
		t.Fatal(left)
	}
	tasks := soon(t, a, "after", 64, 0)
	b.configuring.Lock()
	b.settings.Store(stale)
	b.configuring.Unlock()
	if b.claimAll(t, tasks); !b.Standing().Settings.Queue("default", "default").Paused {
		t.Error("it has claimed tasks with the settings from before the pause")
	}
}

// claimAll claims those of tasks that lie in the shards of s.
func (s *Store) claimAll(t *testing.T, tasks []*task.Task) {
	t.Helper()
	ours := slices.DeleteFunc(slices.Clone(tasks), func(one *task.Task) bool { return s.member.Shard(s.shard(one.Key())) == nil })
	eventually(t, "tasks are claimed", func() bool {
		replies, err := s.Transit(context.WithoutCancel(t.Context()), s.now(), store.Claims(claimsOf('b', ours)))
		return err == nil && len(replies) > 0 && replies[0].Err == nil
	})
}

// The removal of a namespace waits for each master, even for one that hangs. A
// change on another master does not wait, and an edit of a queue is durable without it.
func TestAHangingMasterDelaysOnlyCallsThatNeedIt(t *testing.T) {
	quick.Leave(t, "starts several servers")
	t.Parallel()
	cluster := redistest.NewCluster(t, 3, 0, "--cluster-require-full-coverage", "no")
	a := openNode(t, "a", cluster.Addrs()...)
	fatal.If(t, decideOn(t, a, settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "acme"}}))
	hangs := (masterOf(keyspace.SlotOf("settings")) + 1) % 3
	soon(t, a, "before", 30, time.Hour) // so that each connection exists
	cluster.Servers[hangs].Pause()
	defer cluster.Servers[hangs].Resume()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = a.Configure(t.Context(), a.now(), []settings.Edit{settings.DropNamespace{Name: "acme"}})
	}()
	for i := range 10 {
		if name := fmt.Sprint("t", i); masterOf(a.shard(task.Key{Namespace: "default", Name: name}).Slot) != hangs {
			fatal.If(t, makeIn(t, a, "default", name))
		}
		if _, err := a.edit(t.Context(), a.now(), settings.PauseQueue{Namespace: "default", Name: "other", Paused: i%2 == 0}); err != nil { // confirm would wait
			t.Fatal(err)
		}
	}
	select { // 10 waits for the master would be longer than this one
	case <-ended:
		t.Error("it did not wait for the master that hangs")
	default:
	}
	cluster.Servers[hangs].Resume()
	<-ended
}

// The settings of the node that raised the newest fence lack the other node's
// removal.
func TestARemovalHoldsAfterANodeWithOlderSettingsRaisedAFence(t *testing.T) {
	t.Parallel()
	a, b := twoNodes(t, false)
	fatal.If(t, decideOn(t, a, settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "acme"}}))
	before := a.settings.Load()
	fatal.If(t, decideOn(t, b, settings.DropNamespace{Name: "acme"}))
	stale(a, before)
	fatal.If(t, a.raiseFences(t.Context()))
	wantRemoved(t, a, "acme")
}

// A server may execute a fence twice, because the first reply was lost or the
// server hung.
func TestARepeatedFenceRestoresNoOldToken(t *testing.T) {
	t.Parallel()
	a, b := twoNodes(t, false)
	fatal.If(t, decideOn(t, a, settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "acme"}}))
	repeated := redisconn.Run{Args: []string{newToken(), b.servers.Identity}}
	for _, sh := range b.shards {
		repeated.Keys = append(repeated.Keys, sh.Own)
	}
	again := func() {
		fatal.If(t, errOf(b.servers.Write(t.Context(), fence, []*keyspace.Shard{b.shards[0]}, []redisconn.Run{repeated})))
	}
	again()
	fatal.If(t, makeIn(t, a, "default", "passes"))
	before := a.settings.Load()
	fatal.If(t, decideOn(t, b, settings.DropNamespace{Name: "acme"}))
	again()
	stale(a, before)
	wantRemoved(t, a, "acme")
}

// wantRemoved checks that a create in a removed namespace is refused.
func wantRemoved(t *testing.T, s *Store, namespace string) {
	t.Helper()
	var missing *settings.MissingError
	if err := makeIn(t, s, namespace, "late"); !errors.As(err, &missing) {
		t.Errorf("a create on a node that has not heard of the removal: %v", err)
	}
}

func TestRoundsThatAFenceRefusedAtTheSameTimeShareOneReadOfTheSettings(t *testing.T) {
	t.Parallel()
	b := openNode(t, "b", redistest.New(t).Addr)
	reads := func(token string, repliedAt time.Time) bool {
		before := b.caughtUp
		fatal.If(t, b.passFences(t.Context(), []redisconn.Outcome{{Status: redisconn.StaleSettings, Value: token}}, []redisconn.Item{{Shard: b.shards[0]}}, repliedAt))
		return b.caughtUp != before
	}
	repliedAt := time.Now()
	if first, second := reads("a", repliedAt), reads("b", repliedAt); !first || second {
		t.Errorf("the first round reads the settings: %v, the second: %v", first, second)
	}
	if !reads("c", time.Now()) {
		t.Error("a round that was refused after the read does not read the settings")
	}
}
