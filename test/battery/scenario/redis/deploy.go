package redis

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

const (
	deployRate  = 200                     // creates a second
	deployLives = 1500 * time.Millisecond // of a node between two restarts
	deployLate  = 100 * time.Millisecond
	deployStop  = 25 * time.Second
)

// Deploy: an operator restarts each of three nodes in turn, and then a single
// node. No node is killed, so no task may arrive twice or wait for a lease.
func Deploy(ctx context.Context, t *harness.Run) {
	t.Note("three nodes: %d restarts of each", t.Options.Deploys)
	t.Part("three", func() { deployOf(ctx, t, "three", 3) })
	t.Note("one node: %d restarts", t.Options.Deploys)
	t.Part("one", func() { deployOf(ctx, t, "one", 1) })
}

// deployOf starts nodes, and restarts them in turn.
func deployOf(ctx context.Context, t *harness.Run, sub string, count int) {
	n := t.PrepareNodes(sub, count, "redis://"+t.StartRedis("redis").Addr)
	n.StartAll(ctx)
	load := &harness.Load{Environment: n, Target: n.Endpoints, Rate: deployRate}
	var gaps []gap
	v := n.Conclude(ctx, harness.Phases{Load: load, Attack: func() { gaps = restartInTurn(ctx, n, t.Options.Deploys) }})
	t.Must(load.Unanswered == 0, "creates without an answer %d", load.Unanswered)
	t.Must(v.Duplicates == 0, "duplicates %d", v.Duplicates)
	e := n.Evidence()
	slices.SortFunc(gaps, func(a, b gap) int { return cmp.Compare(a.stop+a.start, b.stop+b.start) })
	longest := gaps[len(gaps)-1]
	t.Note("%d restarts; longest from the signal until the process had ended %s, and until the next was ready %s more", len(gaps), verify.Millis(longest.stop), verify.Millis(longest.start))
	machines := verify.Percentile(n.Idle, 100) // the longest delay of any process on this machine
	mustArriveWithin(t, "over restarts", e.Delays().Untouched, deployLate+machines)
}

// gap is how long a node was not ready during a restart: the time until its
// process had ended, and the time from then until the next process was ready.
type gap struct{ stop, start time.Duration }

// restartInTurn stops one node after another as an operator does, and starts each
// again. It does this several times.
func restartInTurn(ctx context.Context, n *harness.Environment, times int) (gaps []gap) {
	for range times {
		for _, s := range n.Servers {
			harness.Pause(ctx, deployLives)
			began := time.Now()
			harness.Check(s.Stop(deployStop))
			ended := time.Now()
			harness.Check(s.Run(ctx))
			gaps = append(gaps, gap{stop: ended.Sub(began), start: time.Since(ended)})
		}
	}
	timing.Pause(ctx, deployLives)
	return gaps
}
