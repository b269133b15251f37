package redisstore

import (
	"log/slog"
	"testing"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

// A master is stopped until it has a successor. Then it replies to the calls
// that wait, and to new ones until it learns of the successor.
func TestRepliesOfAReplacedMasterConfirmNothing(t *testing.T) {
	long(t)
	t.Run("Sentinel", func(t *testing.T) {
		t.Parallel()
		servers := redistest.NewSentinels(t)
		c := Config{Client: rueidis.ClientOption{Sentinel: rueidis.SentinelOption{MasterSet: redistest.MasterName}}}
		testFrozenMaster(t, c, servers.Servers[0], func() bool { return servers.Master(t.Context()) > 0 },
			servers.Sentinels[0].Addr, servers.Sentinels[1].Addr, servers.Sentinels[2].Addr)
	})
	t.Run("Cluster", func(t *testing.T) {
		t.Parallel()
		servers := redistest.NewCluster(t, 3, 1)
		promoted := func() bool {
			masters := 0
			for place := 1; place < 6; place++ {
				if master, _ := servers.Role(t.Context(), place); master {
					masters++
				}
			}
			return masters == 3
		}
		testFrozenMaster(t, Config{}, servers.Servers[0], promoted, servers.Addrs()...)
	})
}

func testFrozenMaster(t *testing.T, c Config, master *redistest.Server, promoted func() bool, addrs ...string) {
	k := &known{log: &lockedBuffer{}}
	c.Durability, c.CallersClock, c.Logger = Async, true, slog.New(slog.NewTextHandler(k.log, nil))
	k.Store = openNodeWith(t, c, addrs...)
	l := newLoad(t, k.Store)
	l.more(200)
	master.Pause()
	eventually(t, "there is a successor", promoted)
	master.Resume()
	l.more(200)
	l.end()
	if n := k.log.count(olderData); n != 0 {
		t.Errorf("%d false alarms:\n%s", n, k.log.String())
	}
}

// A replica is detached from its master while the master is slow for a moment.
// There is no failover.
func TestAMasterWhoseFormerReplicaIsAMasterTooIsTrustedAgain(t *testing.T) {
	long(t)
	servers := redistest.NewSentinels(t)
	c := Config{Durability: redisconn.Async, CallersClock: true, Client: rueidis.ClientOption{Sentinel: rueidis.SentinelOption{MasterSet: redistest.MasterName}}}
	s := openNodeWith(t, c, servers.Sentinels[0].Addr, servers.Sentinels[1].Addr, servers.Sentinels[2].Addr)
	servers.Servers[0].Pause()
	for _, replica := range servers.Servers[1:] {
		redis(t, replica, "REPLICAOF", "NO", "ONE")
	}
	for _, sentinel := range servers.Sentinels {
		redis(t, sentinel, "SENTINEL", "RESET", redistest.MasterName)
	}
	eventually(t, "the master has missed a check", func() bool { return s.servers.Doubted(s.servers.Keys.Nodes) })
	servers.Servers[0].Resume()
	eventually(t, "it takes writes", func() bool { return apply(t, s, order("after")) == nil })
}
