package redis

import (
	"context"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// KillNodes: kill -9 of one node after another, in the middle of a start too,
// while tasks are created at all of them, delivered and cancelled.
func KillNodes(ctx context.Context, t *harness.Run) error {
	n, err := t.StartNodes(ctx, ".", 3)
	if err != nil {
		return err
	}
	defer n.Close()

	load := &harness.Load{Environment: n.Environment, Target: n.Endpoints, Rate: harness.LoadRate, CancelShare: t.Options.Cancel}
	v, err := n.ConcludeUnder(ctx, load, func() error { return killNodesRepeatedly(ctx, n, t.Options.Deaths) })
	if err != nil {
		return err
	}
	load.Report(t, v)
	return mustDelays(n)
}

// killNodesRepeatedly kills one node at a time, and starts it again. Between two
// kills there is time for the unclaimed tasks that the first one delayed, so that
// each lateness has one cause.
func killNodesRepeatedly(ctx context.Context, n *harness.Nodes, deaths int) error {
	o := n.Run.Options
	for i := range deaths {
		victim := n.Servers[n.Run.Rand.IntN(len(n.Servers))]
		if !timing.Pause(ctx, randomBetween(n, 1, 1.5, o.ShardLease+time.Second)) {
			return ctx.Err()
		}
		if err := killNode(n, victim); err != nil {
			return err
		}
		if !timing.Pause(ctx, randomBetween(n, 0, 1.5, o.ShardLease)) {
			return ctx.Err()
		}
		if err := restartNode(ctx, n, victim, i%starts == 0); err != nil {
			return err
		}
		if (i+1)%max(4, deaths/20) == 0 {
			n.Run.Note("killed %d times", i+1)
		}
	}
	return nil
}

const (
	starts    = 5 // of so many deaths one is followed by one in the middle of the start
	startLife = 50 * time.Millisecond
)

// restartNode starts a node that was killed, and returns when it is ready. With
// again, the first process that it starts is killed at once.
func restartNode(ctx context.Context, n *harness.Nodes, victim *harness.Server, again bool) error {
	if again {
		if err := victim.Start(); err != nil {
			return err
		}
		timing.Pause(ctx, randomBetween(n, 0, 1, startLife))
		if err := killNode(n, victim); err != nil {
			return err
		}
	}
	return victim.Run(ctx)
}

// killNode kills a node and writes that down.
func killNode(n *harness.Nodes, victim *harness.Server) error {
	at := victim.KillNow()
	victim.Reap()
	return n.RecordFault("kill -9", at)
}

// randomBetween returns a time between two multiples of d.
func randomBetween(n *harness.Nodes, low, high float64, d time.Duration) time.Duration {
	return time.Duration((low + n.Run.Rand.Float64()*(high-low)) * float64(d))
}
