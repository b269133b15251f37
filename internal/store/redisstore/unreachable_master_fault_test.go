package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
)

func TestShardsOfAMasterThatTheirNodeCannotReachAreTakenByAnother(t *testing.T) {
	long(t)
	cluster := redistest.NewCluster(t, 3, 0, "--cluster-require-full-coverage", "no")
	away := (masterOf(keyspace.SlotOf(storeKeys.Nodes)) + 1) % 3
	var cut atomic.Bool
	dialled := make(chan net.Conn, 1000)
	c := Config{Node: "a", Client: rueidis.ClientOption{DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
		if addr == cluster.Addrs()[away] && cut.Load() {
			return nil, errors.New("no route to host")
		}
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err == nil && addr == cluster.Addrs()[away] {
			dialled <- conn
		}
		return conn, err
	}}}
	a := openNodeWith(t, c, cluster.Addrs()...)
	b := openNode(t, "b", cluster.Addrs()...)
	eventually(t, "they share the shards", func() bool { return divided(a, b) })
	cut.Store(true)
	for len(dialled) > 0 {
		_ = (<-dialled).Close()
	}
	eventually(t, "the other owns all shards of that master", func() bool {
		owned := map[int]bool{}
		for _, h := range b.member.Owned() {
			owned[h.Number] = true
		}
		for _, sh := range b.shards {
			if masterOf(sh.Slot) == away && !owned[sh.Number] {
				return false
			}
		}
		return true
	})
}
