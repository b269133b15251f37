package redisstore

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/membership"
	"github.com/foliot/foliot/internal/store/redisstore/identity"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

func TestALoneNodeOwnsEveryShardAtOnceAndAfterAGracefulRestart(t *testing.T) {
	server := redistest.New(t)
	for range 3 {
		s := openNode(t, "a", server.Addr)
		if !divided(s) {
			t.Fatalf("it owns %d shards", len(s.member.Owned()))
		}
		fatal.If(t, s.Close())
	}
}

// endsWithTheLease fails the test if a node had more heartbeats than fit into a
// lease and the time to notice its end.
func endsWithTheLease(t *testing.T, s *Store, beats int) {
	t.Helper()
	if most := int(s.config.ShardLease/s.config.Heartbeat) + 5; beats > most {
		t.Errorf("the node had %d heartbeats until it owned all, and %d are enough", beats, most)
	}
}

func TestARestartedNodeWaitsForItsOwnLeasesAndNoLonger(t *testing.T) {
	quick.Leave(t, "waits for leases")
	server := redistest.New(t)
	proxy := redistest.NewProxy(t, server.Addr)
	openNode(t, "a", proxy.Addr)
	proxy.Refuse(true)
	proxy.Cut()
	again := openNode(t, "a", server.Addr)
	if n := len(again.member.Owned()); n != 0 {
		t.Errorf("it owns %d shards while the leases last", n)
	}
	before := beats(t, server)
	eventually(t, "it owns all", func() bool {
		if again.Standing().NameTaken {
			t.Error("it takes who was killed for one that lives")
		}
		return divided(again)
	})
	endsWithTheLease(t, again, beats(t, server)-before)
}

// A node that was stopped does not know that its leases have ended. The server
// knows it.
func TestANodeThatLostAShardClaimsNothingThereAndSettlesItsAttempts(t *testing.T) {
	server := redistest.New(t)
	a := openNode(t, "a", server.Addr)
	tasks := soon(t, a, "t", 40, 0)
	first, err := a.Transit(t.Context(), task.FloorMillis(time.Now()), store.Claims(claimsOf('a', tasks[:20])))
	fatal.If(t, err)
	before := map[int]*membership.Owned{}
	for _, h := range a.member.Owned() {
		before[h.Shard] = h
	}
	b := openNode(t, "b", server.Addr)
	eventually(t, "they share the shards", func() bool { return divided(a, b) })
	refused := 0
	for i, c := range claimsOf('a', tasks[20:]) { // with the owner ids of a process that was stopped in between
		sh := a.shard(c.Key)
		found, err := a.records.ReadAll(t.Context(), []records.Read{{Key: c.Key}})
		fatal.If(t, err)
		claimed, err := c.Apply(a.now(), found[0].Task, task.Facts{Policy: a.config.Policy})
		fatal.If(t, err)
		it, _ := records.Replacement(sh, found[0].Record, claimed.Task)
		it.Owner = before[sh.Number].ID
		outcomes, _, err := a.servers.Put(t.Context(), redisconn.Terms{Clock: a.clock(a.now()), Loose: true}, []redisconn.Item{it})
		fatal.If(t, err)
		lost, want := b.member.Shard(sh) != nil, redisconn.Applied
		if lost {
			refused++
			want = redisconn.NotOwner
		}
		if outcomes[0].Status != want {
			t.Errorf("task %d, in a shard that was lost: %v: %v", i, lost, outcomes[0].Status)
		}
	}
	if refused == 0 {
		t.Error("no task lies in a shard that was lost")
	}
	settlements := make([]task.Settlement, len(first))
	for i, r := range first {
		fatal.If(t, r.Err)
		settlements[i] = task.Settlement{Key: r.Task.Key(), Token: r.Task.Lease.Token, Outcome: task.Outcome{Status: 200, Verdict: task.Success}}
	}
	fatal.If(t, transit(t, a, task.FloorMillis(time.Now()), store.Settlements(settlements)))
}

// A failover may lose the ownership of shards.
func TestShardsHaveOneOwnerAgainAfterTheServerForgotTheOwners(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	a, b := openNode(t, "a", server.Addr), openNode(t, "b", server.Addr)
	eventually(t, "they share the shards", func() bool { return divided(a, b) })
	for _, sh := range a.shards {
		fatal.If(t, errOf(redistest.Command(t.Context(), server.Addr, "HDEL", sh.Own, "id", "until", "epoch")))
	}
	eventually(t, "they share the shards, and the server knows", func() bool {
		for _, sh := range a.shards {
			id, _ := redistest.Command(t.Context(), server.Addr, "HGET", sh.Own, "id")
			if h := a.member.Shard(sh); (h == nil || h.ID != id) && (b.member.Shard(sh) == nil || b.member.Shard(sh).ID != id) {
				return false
			}
		}
		return divided(a, b)
	})
	tasks := soon(t, a, "t", 40, 0)
	claimed := 0
	for name, s := range map[byte]*Store{'a': a, 'b': b} {
		replies, err := s.Transit(t.Context(), task.FloorMillis(time.Now()), store.Claims(claimsOf(name, tasks)))
		fatal.If(t, err)
		for _, r := range replies {
			if r.Err == nil {
				claimed++
			}
		}
	}
	if claimed != len(tasks) {
		t.Errorf("%d of %d tasks were claimed", claimed, len(tasks))
	}
}

// Redis creates users without access to any channel. Such a user can neither
// publish nor subscribe.
func TestWithoutChannelsThePollFindsAllTasks(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	if reply, err := redistest.Command(t.Context(), server.Addr, "ACL", "SETUSER", "poor", "on", ">secret", "~foliot:*", "+@all", "resetchannels"); reply != "+OK" {
		t.Fatal(reply, err)
	}
	poor := rueidis.ClientOption{Username: "poor", Password: "secret"}
	a := openNodeWith(t, Config{Client: poor, Shared: store.Shared{Node: "a"}}, server.Addr)
	b := openNodeWith(t, Config{Client: poor, Shared: store.Shared{Node: "b"}}, server.Addr)
	eventually(t, "they share the shards", func() bool { return divided(a, b) })
	heard := watch(b)
	tasks := soon(t, a, "t", 40, 0)
	heard.await(t, b, tasks)
	fatal.If(t, a.Close())
	eventually(t, "the other owns all", func() bool { return divided(b) })
}

func TestConfigurationsThatCannotWorkAreRefused(t *testing.T) {
	for _, c := range []Config{
		{Shared: store.Shared{Node: "a/b"}},
		{Shards: -1},
		{Shards: keyspace.Slots + 1},
		{ShardLease: time.Second, Heartbeat: 500 * time.Millisecond},
		{ShardLease: time.Second, Heartbeat: -1},
	} {
		c.Client = rueidis.ClientOption{InitAddress: []string{"127.0.0.1:1"}}
		if _, err := Open(t.Context(), c); !errors.Is(err, identity.ErrConfig) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
