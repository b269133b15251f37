package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
)

// Cluster is a Redis Cluster of loopback processes.
type Cluster struct {
	Servers  []*Server // the masters in the order of their creation, then their replicas
	Masters  int
	Replicas int // of each master
}

// NewCluster starts masters with replicas each, which take an unreachable
// server for dead after a second, and ends them with the test.
func NewCluster(t testing.TB, masters, replicas int, args ...string) *Cluster {
	t.Helper()
	quick.Leave(t, "starts a cluster")
	Need(t)
	dir, err := os.MkdirTemp("", "foliot-cluster-")
	fatal.If(t, err)
	c, err := StartCluster(dir, masters, replicas, args...)
	t.Cleanup(func() {
		c.Close()
		_ = os.RemoveAll(dir)
	})
	fatal.If(t, err)
	return c
}

// StartCluster starts a cluster whose servers keep their data below dir. The
// caller must close the result even if StartCluster returns an error.
func StartCluster(dir string, masters, replicas int, args ...string) (*Cluster, error) {
	c := &Cluster{Masters: masters, Replicas: replicas}
	for range masters * (1 + replicas) {
		bus, err := freePort()
		if err != nil {
			return c, err
		}
		s, err := Start(dir, append([]string{
			"--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-port", strconv.Itoa(bus),
			"--repl-diskless-sync-delay", "0", "--cluster-announce-ip", "127.0.0.1",
		}, args...)...)
		if s != nil {
			c.Servers = append(c.Servers, s)
		}
		if err != nil {
			return c, err
		}
	}
	return c, c.join()
}

// join makes one cluster of the servers, and waits until all of them agree on
// it.
func (c *Cluster) join() error {
	ctx, stop := context.WithTimeout(context.Background(), 2*Patience)
	defer stop()
	words := []string{"--cluster", "create"}
	words = append(words, c.Addrs()...)
	words = append(words, "--cluster-replicas", strconv.Itoa(c.Replicas), "--cluster-yes")
	if out, err := exec.CommandContext(ctx, "redis-cli", words...).CombinedOutput(); err != nil { //nolint:gosec // arguments of the test's own
		return fmt.Errorf("redis-cli --cluster create: %w\n%s", err, out)
	}
	return c.Await(ctx)
}

// Await waits until every server reports that the cluster works.
func (c *Cluster) Await(ctx context.Context) error {
	if err := Poll(ctx, c.whole); err != nil {
		return fmt.Errorf("the cluster did not become whole: %w", err)
	}
	return nil
}

func (c *Cluster) whole(ctx context.Context) error {
	var errs []error
	for _, s := range c.Servers {
		info, err := Command(ctx, s.Addr, "CLUSTER", "INFO")
		switch {
		case err != nil:
			errs = append(errs, err)
		case !strings.Contains(info, "cluster_state:ok"), !strings.Contains(info, "cluster_known_nodes:"+strconv.Itoa(len(c.Servers))):
			errs = append(errs, fmt.Errorf("%s says %s", s.Addr, info))
		}
	}
	return errors.Join(errs...)
}

func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.Servers))
	for i, s := range c.Servers {
		addrs[i] = net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port))
	}
	return addrs
}

func (c *Cluster) Close() {
	for _, s := range c.Servers {
		s.Kill()
	}
}

// Reshard moves slots, with all their keys, from one master to another while
// the cluster works.
func (c *Cluster) Reshard(ctx context.Context, from, to, slots int) error {
	ids := make([]string, 2)
	for i, place := range []int{from, to} {
		id, err := Command(ctx, c.Servers[place].Addr, "CLUSTER", "MYID")
		if err != nil {
			return err
		}
		ids[i] = id
	}
	out, err := exec.CommandContext(ctx, "redis-cli", "--cluster", "reshard", c.Servers[from].Addr, "--cluster-from", ids[0], "--cluster-to", ids[1], //nolint:gosec // our own servers
		"--cluster-slots", strconv.Itoa(slots), "--cluster-yes").CombinedOutput()
	if err != nil {
		return fmt.Errorf("redis-cli --cluster reshard: %w\n%s", err, out[max(0, len(out)-2000):])
	}
	return nil
}

// Role returns whether the server at a place is a master with slots, and
// whether it is a replica in step with its master. Both are false if the server
// does not answer.
func (c *Cluster) Role(ctx context.Context, place int) (master, replica bool) {
	info, err := Command(ctx, c.Servers[place].Addr, "INFO", "replication")
	if err != nil {
		return false, false
	}
	if containsLine(info, "role:slave") {
		return false, containsLine(info, "master_link_status:up")
	}
	nodes, err := Command(ctx, c.Servers[place].Addr, "CLUSTER", "NODES")
	if err != nil {
		return false, false
	}
	for line := range strings.Lines(nodes) {
		if f := strings.Fields(line); len(f) > 8 && strings.Contains(f[2], "myself") {
			return true, false
		}
	}
	return false, false
}
