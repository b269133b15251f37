package main

import (
	"context"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/buildinfo"
	"github.com/foliot/foliot/internal/store/redisstore"
)

// redisReap is how often lost leases are taken back: other than a directory's,
// a Redis's are not while it is opened. What a dead node had in flight is sent again
// within its lease and a second: of that second this is half, so that what else takes
// time has the other. (With a whole one, 7 of 2,444 tasks came some milliseconds after
// it, or just before.) It costs each master one ZRANGE a shard.
const redisReap = 500 * time.Millisecond

// openRedis opens the store in the servers that the configuration names.
func (n *node) openRedis(ctx context.Context) error {
	u := n.cfg.redis
	client, err := u.Options()
	if err != nil {
		return err
	}
	c := n.cfg.sharing.config()
	c.Client, c.Policy, c.AuditKeep, c.Logger = client, n.cfg.keep, n.cfg.auditKeep, n.log
	c.Version, c.Address = buildinfo.Version(), advertised(n.listener.Addr())
	c.OnReap = n.reaped
	c.APIs = func() []string { return apisOf(n.listener.Addr()) }
	s, err := redisstore.Open(ctx, c)
	if err != nil {
		return u.Explain("open", err)
	}
	n.store, n.now, n.latest, n.trusted = s, s.Now, s.Latest, s.Trusted
	return nil
}

// advertised returns where others reach a listener, as far as it tells: by the
// machine's name, where it listens at all of its addresses.
func advertised(at net.Addr) string {
	tcp, ok := at.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return at.String()
	}
	host, err := os.Hostname()
	if err != nil {
		return ""
	}
	return net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}
