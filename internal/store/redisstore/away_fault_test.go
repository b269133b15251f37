package redisstore

import (
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/task"
)

// masterOf returns which of three masters has a slot. redis-cli gives each
// master a third of the slots.
func masterOf(slot uint16) int { return min(int(slot)*3/keyspace.Slots, 2) }

// ownsElsewhere reports whether s owns every shard on the masters other than
// the one at place.
func ownsElsewhere(s *Store, place int) bool {
	owned := map[*keyspace.Shard]bool{}
	for _, h := range s.member.Shards() {
		owned[h] = true
	}
	for _, sh := range s.shards {
		if masterOf(sh.Slot) != place && !owned[sh] {
			return false
		}
	}
	return true
}

func TestShardsOfADeadNodeAreTakenWhileAnotherMasterIsUnavailable(t *testing.T) {
	t.Parallel()
	cluster := redistest.NewCluster(t, 3, 0, "--cluster-require-full-coverage", "no")
	a, b := openNode(t, "a", cluster.Addrs()...), openNode(t, "b", cluster.Addrs()...)
	eventually(t, "they share the shards", func() bool { return divided(a, b) })
	away := (masterOf(keyspace.SlotOf(storeKeys.Nodes)) + 1) % 3
	cluster.Servers[away].Kill()
	fatal.If(t, b.Close())
	eventually(t, "it owns all shards of the masters that are there", func() bool { return ownsElsewhere(a, away) })
}

func TestAHangingMasterCostsNoShardsOfOtherMasters(t *testing.T) {
	t.Parallel()
	cluster := redistest.NewCluster(t, 3, 0, "--cluster-require-full-coverage", "no")
	a := openNode(t, "a", cluster.Addrs()...)
	away := masterOf(keyspace.SlotOf(storeKeys.Nodes))
	cluster.Servers[away].Pause()
	defer cluster.Servers[away].Resume()
	leases := time.Duration(3)
	if testing.Short() {
		leases = 2
	}
	for end := time.Now().Add(leases * a.config.ShardLease); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if !ownsElsewhere(a, away) {
			t.Fatalf("%v before the end it owns %d shards", time.Until(end), len(a.member.Owned()))
		}
		if err := a.Standing().Err; err != nil {
			t.Fatalf("%v before the end it is not ready: %v", time.Until(end), err)
		}
	}
}

func TestTasksOfOneMasterAreClaimedWhileAnotherIsUnavailable(t *testing.T) {
	long(t)
	cluster := redistest.NewCluster(t, 3, 0, "--cluster-require-full-coverage", "no")
	a := openNode(t, "a", cluster.Addrs()...)
	tasks := soon(t, a, "t", 30, 0)
	away := 1
	cluster.Servers[away].Kill()
	replies, err := a.Transit(t.Context(), task.FloorMillis(time.Now()), store.Claims(claimsOf('a', tasks)))
	fatal.If(t, err)
	for i, r := range replies {
		if there := masterOf(a.shard(tasks[i].Key()).Slot) != away; there != (r.Err == nil) {
			t.Errorf("%s: %v", tasks[i].Name, r.Err)
		}
	}
}
