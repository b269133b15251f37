package redisstore

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
)

// names reports whether s knows all of addrs as its endpoints.
func (s *Store) names(addrs ...string) bool {
	known := s.Endpoints()
	return !slices.ContainsFunc(addrs, func(addr string) bool { return !slices.Contains(known, addr) })
}

func TestEndpointsNameTheServerAndItsReplicas(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	s := openNode(t, "a", net.JoinHostPort("localhost", port(t, server.Addr)))
	if !s.names(net.JoinHostPort("localhost", port(t, server.Addr)), server.Addr) {
		t.Errorf("%v does not have the server by its name and by its address %s", s.Endpoints(), server.Addr)
	}
	replica := redistest.NewReplica(t, server.Addr)
	eventually(t, "the replica that came later is known", func() bool { return s.names(replica.Addr) })
}

func TestEndpointsNameTheAPIsOfAllNodes(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	a := openNodeWith(t, Config{Shared: store.Shared{Node: "a", Address: "alpha.example:8750"}}, server.Addr)
	b := openNodeWith(t, Config{Shared: store.Shared{Node: "b", Address: "beta.example:8750", APIs: func() []string { return []string{"10.0.0.7:8750", "[fd00::7]:8750"} }}}, server.Addr)
	eventually(t, "each knows the other", func() bool {
		return a.names("alpha.example:8750", "beta.example:8750", "10.0.0.7:8750", "[fd00::7]:8750") && b.names("alpha.example:8750")
	})
	nodes, err := a.Nodes(t.Context())
	if err != nil || len(nodes) != 2 || nodes[1].Address != "beta.example:8750" {
		t.Errorf("the nodes are shown as %+v, %v", nodes, err)
	}
}

func TestEndpointsNameEverySentinelMasterAndReplica(t *testing.T) {
	t.Parallel()
	s := redistest.NewSentinels(t)
	var all []string
	for _, one := range append(slices.Clone(s.Servers), s.Sentinels...) {
		all = append(all, one.Addr)
	}
	c := Config{Shared: store.Shared{Node: "a"}}
	c.Client.Sentinel = rueidis.SentinelOption{MasterSet: redistest.MasterName}
	store := openNodeWith(t, c, s.Sentinels[0].Addr) // the other servers are discovered
	eventually(t, "all are known", func() bool { return store.names(all...) })
}

// TestAHangingSentinelDoesNotDelayChecksOfTheMasters: the Sentinel may have
// died with the master.
func TestAHangingSentinelDoesNotDelayChecksOfTheMasters(t *testing.T) {
	t.Parallel()
	s := redistest.NewSentinels(t)
	var hang atomic.Bool
	hung, release := make(chan struct{}, 100), make(chan struct{})
	c := Config{Shared: store.Shared{Node: "a"}}
	c.Client.Sentinel = rueidis.SentinelOption{MasterSet: redistest.MasterName}
	c.Client.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
		if hang.Load() && slices.ContainsFunc(s.Sentinels, func(one *redistest.Server) bool { return one.Addr == addr }) {
			hung <- struct{}{}
			<-release
		}
		return d.DialContext(ctx, "tcp", addr)
	}
	store := openNodeWith(t, c, s.Sentinels[0].Addr)
	t.Cleanup(func() { close(release) }) // runs before the store closes
	hang.Store(true)
	select {
	case <-hung:
	case <-time.After(redistest.Patience):
		t.Fatal("no Sentinel is asked")
	}
	for range 3 {
		last := store.servers.Masters.Load()
		eventually(t, "a look at the masters", func() bool { return store.servers.Masters.Load() != last })
	}
}

func TestEndpointsNameEveryMasterAndReplicaOfACluster(t *testing.T) {
	t.Parallel()
	c := redistest.NewCluster(t, 3, 1)
	store := openNode(t, "a", c.Addrs()[0], c.Addrs()[0])
	eventually(t, "all are known", func() bool { return store.names(c.Addrs()...) })
}

func port(t *testing.T, addr string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	fatal.If(t, err)
	fatal.If(t, errOf(strconv.Atoi(port)))
	return port
}
