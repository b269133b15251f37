package redis

import (
	"context"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// KillNodes: kill -9 of one node after another, in the middle of a start too,
// while tasks are created at all of them, delivered and cancelled.
func KillNodes(ctx context.Context, t *harness.Run) {
	n := t.StartNodes(ctx, ".", 3)
	load := &harness.Load{Environment: n, Target: n.Endpoints, Rate: harness.LoadRate, CancelShare: t.Options.Cancel}
	v := n.Conclude(ctx, harness.Phases{Load: load, Attack: func() { killNodesRepeatedly(ctx, n, t.Options.Deaths) }})
	load.Report(t, v)
	mustDelays(n)
}

// killNodesRepeatedly kills one node at a time, and starts it again. It waits
// until the unclaimed tasks that one kill delayed have arrived before the next
// kill. So each lateness has one cause.
func killNodesRepeatedly(ctx context.Context, n *harness.Environment, deaths int) {
	o := n.Run.Options
	for i := range deaths {
		victim := n.Servers[n.Run.Rand.IntN(len(n.Servers))]
		harness.Pause(ctx, randomBetween(n, 1, 1.5, o.ShardLease+time.Second))
		n.Kill(victim)
		harness.Pause(ctx, randomBetween(n, 0, 1.5, o.ShardLease))
		restartNode(ctx, n, victim, i%starts == 0)
		if (i+1)%max(4, deaths/20) == 0 {
			n.Run.Note("killed %d times", i+1)
		}
	}
}

const (
	starts    = 5 // after one of this many kills, the node is killed again in the middle of its start
	startLife = 50 * time.Millisecond
)

// restartNode starts a node that was killed, and returns when it is ready. If
// again is true, it kills the first process that it starts soon after the
// start.
func restartNode(ctx context.Context, n *harness.Environment, victim *harness.Server, again bool) {
	if again {
		harness.Check(victim.Start())
		timing.Pause(ctx, randomBetween(n, 0, 1, startLife))
		n.Kill(victim)
	}
	harness.Check(victim.Run(ctx))
}

// randomBetween returns a time between two multiples of d.
func randomBetween(n *harness.Environment, low, high float64, d time.Duration) time.Duration {
	return time.Duration((low + n.Run.Rand.Float64()*(high-low)) * float64(d))
}
