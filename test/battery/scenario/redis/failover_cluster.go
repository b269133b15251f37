package redis

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/test/battery/harness"
)

// clusterGroup is a group of three masters with a replica each, in a Cluster.
type clusterGroup struct {
	*redistest.Cluster
	struck int // the place of the one that is, or was
	turn   int
}

// FailoverCluster kills masters of a Cluster.
func FailoverCluster(ctx context.Context, t *harness.Run) error {
	return failover(ctx, t, "kill -9 in a Cluster", t.Options.ClusterFailovers, openClusterGroup)
}

func openClusterGroup(dir, level string) (redisGroup, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	c, err := redistest.StartCluster(dir, 3, 1, redisArgs(level)...)
	if err != nil {
		c.Close()
		return nil, err
	}
	return &clusterGroup{Cluster: c}, nil
}

func (m *clusterGroup) url() string {
	return "redis+cluster://" + strings.Join(m.Addrs()[:m.Masters], ",")
}

// victim is one master after another.
func (m *clusterGroup) victim(ctx context.Context) (*redistest.Server, error) {
	for range m.Servers {
		m.turn++
		place := m.turn % len(m.Servers)
		if master, _ := m.Role(ctx, place); master {
			m.struck = place
			return m.Servers[place], nil
		}
	}
	return nil, errors.New("there is no master to strike")
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

func (m *clusterGroup) heal(ctx context.Context) error {
	if err := m.Servers[m.struck].Restart(); err != nil {
		return err
	}
	return redistest.Poll(ctx, func(ctx context.Context) error {
		if _, replica := m.Role(ctx, m.struck); !replica {
			return errors.New("the old master does not follow its successor")
		}
		return m.Await(ctx)
	})
}

// promotions are the epochs: each election takes one, won or not.
func (m *clusterGroup) promotions(ctx context.Context) (int, error) {
	info, err := redistest.Command(ctx, m.Servers[m.struck].Addr, "CLUSTER", "INFO")
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(info, "cluster_current_epoch:")
	epoch, _, _ := strings.Cut(after, "\r")
	return strconv.Atoi(epoch)
}

func (m *clusterGroup) close() { m.Close() }
