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
	same := slices.Repeat([]string{t.Options.Binary}, t.Options.Deploys)
	t.Note("three nodes: %d restarts of each", len(same))
	t.Part("three", func() { deployOf(ctx, t, "three", 3, t.Options.Binary, same) })
	t.Note("one node: %d restarts", len(same))
	t.Part("one", func() { deployOf(ctx, t, "one", 1, t.Options.Binary, same) })
}

// Upgrade: an operator upgrades three nodes in turn from another commit,
// downgrades them, and upgrades them again. The promises are those of Deploy.
func Upgrade(ctx context.Context, t *harness.Run) {
	old := harness.OK(harness.BuildAt(ctx, t.Dir, t.Options.From))
	t.Note("three nodes: from %s to this tree, back, and again to this tree", t.Options.From)
	deployOf(ctx, t, "upgrade", 3, old, []string{t.Options.Binary, old, t.Options.Binary})
}

// deployOf starts nodes with the first binary, and restarts them with each of the
// next ones.
func deployOf(ctx context.Context, t *harness.Run, sub string, count int, first string, next []string) {
	n := t.PrepareNodes(sub, count, "redis://"+t.StartRedis("redis").Addr)
	useBinary(n, first)
	n.StartAll(ctx)
	load := &harness.Load{Environment: n, Target: n.Endpoints, Rate: deployRate}
	var gaps []gap
	v := n.Conclude(ctx, harness.Phases{Load: load, Attack: func() { gaps = restartInTurn(ctx, n, next) }})
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
// again with the first binary. Then it does the same with the next binary.
func restartInTurn(ctx context.Context, n *harness.Environment, binaries []string) (gaps []gap) {
	for _, binary := range binaries {
		for _, s := range n.Servers {
			harness.Pause(ctx, deployLives)
			began := time.Now()
			harness.Check(s.Stop(deployStop))
			ended := time.Now()
			s.Binary = binary
			harness.Check(s.Run(ctx))
			gaps = append(gaps, gap{stop: ended.Sub(began), start: time.Since(ended)})
		}
	}
	timing.Pause(ctx, deployLives)
	return gaps
}

// useBinary makes the next processes of all servers run this binary.
func useBinary(n *harness.Environment, binary string) {
	for _, s := range n.Servers {
		s.Binary = binary
	}
}
