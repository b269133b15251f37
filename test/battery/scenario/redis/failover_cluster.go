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

func (g *clusterGroup) url() string {
	return "redis+cluster://" + strings.Join(g.Addrs()[:g.Masters], ",")
}

// victim returns one master after another.
func (g *clusterGroup) victim(ctx context.Context) *redistest.Server {
	for range g.Servers {
		g.turn++
		place := g.turn % len(g.Servers)
		if master, _ := g.Role(ctx, place); master {
			g.struck = place
			return g.Servers[place]
		}
	}
	harness.Check(errors.New("there is no master to strike"))
	return nil
}

func (g *clusterGroup) strike() { g.Servers[g.struck].Kill() }

func (g *clusterGroup) promoted(ctx context.Context) error {
	count := 0
	for i := range g.Servers {
		if master, _ := g.Role(ctx, i); master && i != g.struck {
			count++
		}
	}
	if count < g.Masters {
		return errNoSuccessor
	}
	return nil
}

func (g *clusterGroup) heal(ctx context.Context) {
	harness.Check(g.Servers[g.struck].Restart())
	harness.Check(redistest.Poll(ctx, func(ctx context.Context) error {
		if _, replica := g.Role(ctx, g.struck); !replica {
			return errors.New("the old master does not follow its successor")
		}
		return g.Await(ctx)
	}))
}

// promotions returns the current epoch: each election increases the epoch, even
// if no master is elected.
func (g *clusterGroup) promotions(ctx context.Context) int {
	info := harness.OK(redistest.Command(ctx, g.Servers[g.struck].Addr, "CLUSTER", "INFO"))
	_, after, _ := strings.Cut(info, "cluster_current_epoch:")
	epoch, _, _ := strings.Cut(after, "\r")
	return harness.OK(strconv.Atoi(epoch))
}
