package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
)

// Three nodes died twenty minutes ago, with a trusted time that was an hour
// behind. Only the list for operators may have them: they hold no shard, no
// address and no trusted time, even if the clock is set back to their last
// heartbeats.
func TestADeadNodeInTheListHoldsUpNothing(t *testing.T) {
	t.Parallel()
	clock := redistest.NewClock(t)
	server := clock.New()
	s := openNode(t, "b", server.Addr)
	at := time.Now().Add(-20 * time.Minute).UnixMilli()
	for i := range 3 {
		redis(t, server, "HSET", keyspace.NodesKey, fmt.Sprint("dead", i), fmt.Sprintf("%d/N%d/1.0/3/%d/10.0.0.%d:8750/lag=3600000", at, i, at-1000, i))
	}
	listed := func() bool { n, ok := nodesOf(t, s)["dead2"]; return ok && !n.Live && n.Wanted == 0 }
	eventually(t, 10*time.Second, "it owns all", func() bool { s.own.WakeLoop(); return len(s.own.Owned()) == len(s.shards) && listed() })
	if lag := s.Now().Sub(s.Trusted()); lag > time.Second || len(s.own.APIs()) > 1 {
		t.Errorf("the trusted time is %v behind, and the addresses are %v", lag, s.own.APIs())
	}
	clock.Set(-time.Hour)
	for range 20 {
		time.Sleep(s.config.ShardLease / 10) // no event to wait for
		if owned := len(s.own.Owned()); owned < len(s.shards) || !listed() {
			t.Fatalf("it owns %d of %d shards after the clock was set back, of the nodes %+v", owned, len(s.shards), nodesOf(t, s))
		}
	}
}

// A supervisor can restart a node each second, each time with another name.
func TestTheListOfDeadNodesIsBounded(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	s := openNode(t, "b", server.Addr)
	at := time.Now().Add(-time.Minute).UnixMilli()
	for i := range 300 {
		redis(t, server, "HSET", keyspace.NodesKey, fmt.Sprint("old", i), fmt.Sprintf("%d/N/1.0/3/%d/10.0.0.9:1", at+int64(i), at))
	}
	eventually(t, 5*time.Second, "the oldest are forgotten", func() bool {
		all := nodesOf(t, s)
		_, latest := all["old299"]
		return len(all) == 101 && latest
	})
}
