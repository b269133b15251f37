package redis

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/test/battery/harness"
)

// clusterGroup is a group of three masters with a replica each, in a Cluster.
type clusterGroup struct {
	*redistest.Cluster
	struck int // the index of the server that is struck, or was struck last
	turn   int
}

// FailoverCluster kills masters of a Cluster.
func FailoverCluster(ctx context.Context, t *harness.Run) {
	failover(ctx, t, "kill -9 in a Cluster", t.Options.ClusterFailovers, openClusterGroup)
}

func openClusterGroup(t *harness.Run, dir, level string) redisGroup {
	return &clusterGroup{Cluster: startCluster(t, dir, 3, 1, redisArgs(level)...)}
}

func (m *clusterGroup) url() string {
	return "redis+cluster://" + strings.Join(m.Addrs()[:m.Masters], ",")
}

// victim returns one master after another.
func (m *clusterGroup) victim(ctx context.Context) *redistest.Server {
	for range m.Servers {
		m.turn++
		place := m.turn % len(m.Servers)
		if master, _ := m.Role(ctx, place); master {
			m.struck = place
			return m.Servers[place]
		}
	}
	harness.Check(errors.New("there is no master to strike"))
	return nil
}

func (m *clusterGroup) strike() { m.Servers[m.struck].Kill() }

func (m *clusterGroup) promoted(ctx context.Context) error {
	count := 0
	for i := range m.Servers {
		if master, _ := m.Role(ctx, i); master && i != m.struck {
			count++
		}
	}
	if count < m.Masters {
		return errNoSuccessor
	}
	return nil
}

func (m *clusterGroup) heal(ctx context.Context) {
	harness.Check(m.Servers[m.struck].Restart())
	harness.Check(redistest.Poll(ctx, func(ctx context.Context) error {
		if _, replica := m.Role(ctx, m.struck); !replica {
			return errors.New("the old master does not follow its successor")
		}
		return m.Await(ctx)
	}))
}

// promotions returns the current epoch: each election increases the epoch, even
// if no master is elected.
func (m *clusterGroup) promotions(ctx context.Context) int {
	info := harness.OK(redistest.Command(ctx, m.Servers[m.struck].Addr, "CLUSTER", "INFO"))
	_, after, _ := strings.Cut(info, "cluster_current_epoch:")
	epoch, _, _ := strings.Cut(after, "\r")
	return harness.OK(strconv.Atoi(epoch))
}
