package redis

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// errNoSuccessor: the old master has no successor yet.
var errNoSuccessor = errors.New("no other server became the master")

// sentinelGroup is a group of a master, two replicas and three sentinels.
type sentinelGroup struct {
	*redistest.Sentinels
	how    masterFault
	master int // the index of the master
	next   int // the index of its successor
}

// masterFault is a fault of a master, and its reversal.
type masterFault struct {
	inflict func(w *sentinelGroup)
	undo    func(ctx context.Context, w *sentinelGroup)
	proxied bool
}

// killing kills a master with kill -9, and starts it again as a replica of its
// successor.
var killing = masterFault{
	inflict: func(w *sentinelGroup) { w.Servers[w.master].Kill() },
	undo: func(_ context.Context, w *sentinelGroup) {
		host, port := harness.OK2(net.SplitHostPort(w.Addr(w.next)))
		harness.Check(w.Servers[w.master].Restart("--replicaof", host+" "+port))
	},
}

// stopping stops a master by SIGSTOP, and lets it continue when there is a
// successor. Then the old master executes the commands that were sent to it,
// and replies, until it becomes a replica of the successor.
var stopping = masterFault{
	inflict: func(w *sentinelGroup) { w.Servers[w.master].Pause() },
	undo: func(ctx context.Context, w *sentinelGroup) {
		w.Servers[w.master].Resume()
		w.demote(ctx)
	},
}

// splitting cuts a master off from replicas and sentinels, but not from the
// nodes. So the master accepts writes while its successor is elected.
var splitting = masterFault{
	proxied: true,
	inflict: func(w *sentinelGroup) { w.Proxies[w.master].FreezeBut("foliot") },
	undo: func(ctx context.Context, w *sentinelGroup) {
		w.Proxies[w.master].Cut()
		w.Proxies[w.master].Thaw()
		w.demote(ctx)
	},
}

// oldMasterTime is how long an old master stays a master after the fault has
// ended. The sentinels would demote it only after ten seconds.
const oldMasterTime = 2 * time.Second

// demote makes an old master, after a while, a replica of its successor.
func (g *sentinelGroup) demote(ctx context.Context) {
	timing.Pause(ctx, oldMasterTime)
	host, port := harness.OK2(net.SplitHostPort(g.Addr(g.next)))
	allowReplicas(ctx, g.Servers[g.master])
	sendCommand(ctx, g.Servers[g.master], "REPLICAOF", host, port)
}

// FailoverByKill kills a master that sentinels watch.
func FailoverByKill(ctx context.Context, t *harness.Run) {
	failover(ctx, t, "kill -9", t.Options.Failovers, openSentinelGroup(killing))
}

// FailoverByStop stops a master that sentinels watch by SIGSTOP until it has a
// successor.
func FailoverByStop(ctx context.Context, t *harness.Run) {
	failover(ctx, t, "SIGSTOP", t.Options.Failovers, openSentinelGroup(stopping))
}

// FailoverBySplit cuts a master that sentinels watch off from all processes
// except the nodes.
func FailoverBySplit(ctx context.Context, t *harness.Run) {
	failover(ctx, t, "split", t.Options.Failovers, openSentinelGroup(splitting))
}

// redisArgs returns the arguments of a Redis server that a durability level
// needs.
func redisArgs(level string) []string {
	if level != "strict" {
		return nil
	}
	return []string{"--appendfsync", "always", "--min-replicas-to-write", "1", "--min-replicas-max-lag", "10"}
}

func openSentinelGroup(how masterFault) openGroup {
	return func(t *harness.Run, dir, level string) redisGroup {
		return &sentinelGroup{Sentinels: startSentinels(t, dir, how.proxied, redisArgs(level)...), how: how}
	}
}

// startSentinels starts a master with replicas and sentinels in dir. They are closed
// when the part ends.
func startSentinels(t *harness.Run, dir string, proxied bool, args ...string) *redistest.Sentinels {
	harness.Check(os.MkdirAll(dir, 0o700))
	s, err := redistest.StartSentinels(dir, proxied, args...)
	t.Cleanup(s.Close)
	harness.Check(err)
	return s
}

func (g *sentinelGroup) url() string {
	addrs := make([]string, len(g.Sentinels.Sentinels))
	for i, s := range g.Sentinels.Sentinels {
		addrs[i] = s.Addr
	}
	return "redis+sentinel://" + strings.Join(addrs, ",") + "/" + redistest.MasterName
}

func (g *sentinelGroup) victim(context.Context) *redistest.Server { return g.Servers[g.master] }

func (g *sentinelGroup) strike() { g.how.inflict(g) }

func (g *sentinelGroup) promoted(ctx context.Context) error {
	if g.next = g.Master(ctx); g.next < 0 || g.next == g.master {
		return errNoSuccessor
	}
	return nil
}

func (g *sentinelGroup) heal(ctx context.Context) {
	g.how.undo(ctx, g)
	harness.Check(redistest.Poll(ctx, func(ctx context.Context) error {
		if m := g.Master(ctx); m >= 0 {
			g.master = m // not always the successor: on a busy machine the sentinels may have replaced that too
		}
		return g.Agreed(ctx, g.master)
	}))
}

func (g *sentinelGroup) promotions(ctx context.Context) int { return harness.OK(g.Promotions(ctx)) }
