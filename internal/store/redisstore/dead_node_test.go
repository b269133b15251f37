package redisstore

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Three nodes died twenty minutes ago, with a trusted time that was an hour
// behind. Only the list for operators may have them: they hold no shard, no
// address and no trusted time, even if the clock is set back to their last
// heartbeats.
func TestADeadNodeInTheListHoldsUpNothing(t *testing.T) {
	quick.Leave(t, "waits for leases")
	t.Parallel()
	clock := redistest.NewClock(t)
	server := clock.New()
	s := openNode(t, "b", server.Addr)
	at := time.Now().Add(-20 * time.Minute).UnixMilli()
	for i := range 3 {
		redis(t, server, "HSET", storeKeys.Nodes, fmt.Sprint("dead", i), fmt.Sprintf("%d/N%d/1.0/%d/3600000//10.0.0.%d:8750", at, i, at-1000, i))
	}
	listed := func() bool { n, ok := nodesOf(t, s)["dead2"]; return ok && !n.Live && n.Wanted == 0 }
	eventually(t, "it owns all", func() bool { s.member.WakeLoop(); return len(s.member.Owned()) == len(s.shards) && listed() })
	if lag := s.Now().Sub(s.Trusted()); lag > time.Minute || len(s.member.APIs()) > 1 {
		t.Errorf("the trusted time is %v behind, and the addresses are %v", lag, s.member.APIs())
	}
	clock.Set(-time.Hour)
	for range 20 {
		time.Sleep(s.config.ShardLease / 10) // no event to wait for
		if owned := len(s.member.Owned()); owned < len(s.shards) || !listed() {
			t.Fatalf("it owns %d of %d shards after the clock was set back, of the nodes %+v", owned, len(s.shards), nodesOf(t, s))
		}
	}
}

// A supervisor can restart a node each second, each time with another name.
func TestTheListOfDeadNodesIsBounded(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	s := openNode(t, "b", server.Addr)
	s.Watch(store.Watcher{Tasks: func([]task.Entry) {}}) // it sends heartbeats from now on
	at := time.Now().Add(-time.Minute).UnixMilli()
	for i := range 300 {
		redis(t, server, "HSET", storeKeys.Nodes, fmt.Sprint("old", i), fmt.Sprintf("%d/N/1.0/%d/0//10.0.0.9:1", at+int64(i), at))
	}
	// 100 dead nodes and this one; no operator reads the list
	eventually(t, "heartbeats remove the oldest", func() bool {
		n, err := redistest.Command(t.Context(), server.Addr, "HLEN", storeKeys.Nodes)
		return err == nil && n == ":101"
	})
	if _, latest := nodesOf(t, s)["old299"]; !latest {
		t.Error("the latest is not in the list")
	}
}

func TestTheLastNodeIsNotDrainedBecauseOfADeadOne(t *testing.T) {
	t.Parallel()
	clock := redistest.NewClock(t)
	server := clock.New()
	s := openNode(t, "b", server.Addr)
	at := time.Now().Add(-2 * time.Minute).UnixMilli()
	redis(t, server, "HSET", storeKeys.Nodes, "gone", fmt.Sprintf("%d/N/1.0/%d/0//10.0.0.1:8750", at, at-1000))
	eventually(t, "it is dead", func() bool { n, ok := nodesOf(t, s)["gone"]; return ok && !n.Live })
	clock.Set(-10 * time.Minute)
	eventually(t, "the clock is set back", func() bool { n := nodesOf(t, s)["b"]; return n.BeatAt < task.Millis(at) })
	if err := s.Drain(t.Context(), task.CeilMillis(time.Now()), store.Drain{Node: "b"}); !errors.Is(err, store.ErrLastNode) {
		t.Errorf("the drain: %v, want %v", err, store.ErrLastNode)
	}
}

// Its replacement has its address. But nodes behind proxies of their own machines
// all have the same one.
func TestADeadNodeIsNotListedAfterItsReplacement(t *testing.T) {
	t.Parallel()
	for address, still := range map[string]bool{"10.0.0.1:8750": false, "127.0.0.1:8750": true} {
		server := redistest.New(t)
		s := openNodeWith(t, Config{Shared: store.Shared{Node: "b", Address: address}}, server.Addr)
		at := time.Now().Add(-5 * time.Second).UnixMilli()
		redis(t, server, "HSET", storeKeys.Nodes, "a", fmt.Sprintf("%d/N/1.0/%d/0//%s", at, at-1000, address))
		if _, listed := nodesOf(t, s)["a"]; listed != still {
			t.Errorf("of two nodes at %s the dead one is listed: %v", address, listed)
		}
	}
}

// A node dies together with the master, and the new master's clock is behind.
func TestAStepBackOfTheClockDoesNotKeepShardsOfDeadNodes(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	first := openNode(t, "a", server.Addr)
	fatal.If(t, first.Close())
	ahead := time.Now().Add(time.Hour).UnixMilli()
	command := func(words ...string) {
		fatal.If(t, errOf(redistest.Command(t.Context(), server.Addr, words...)))
	}
	command("HSET", storeKeys.Nodes, "dead", fmt.Sprint(ahead, "/nonce/1/1/1/"))
	for _, sh := range first.shards {
		command("HSET", sh.Own, "id", "dead/nonce/7", "until", fmt.Sprint(ahead), "epoch", "7")
	}
	s := openNode(t, "a", server.Addr)
	took := eventually(t, "it owns the dead node's shards", func() bool { return divided(s) })
	if took < s.config.ShardLease/2 {
		t.Errorf("it owned them after %v: the node might have lived", took)
	}
}
