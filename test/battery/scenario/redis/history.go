package redis

import (
	"context"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/verify"
)

// historyQueues is the number of queues that have a history.
const historyQueues = 1000

// History: kill -9 of one of three nodes, again and again, each time after a read of its
// history, which writes that. So the history lacks what the node did in its last second.
func History(ctx context.Context, t *harness.Run) {
	n := t.StartNodes(ctx, ".", 3)
	load := &harness.Load{Environment: n, Target: n.Endpoints, Rate: harness.LoadRate, CancelShare: t.Options.Cancel, Queues: historyQueues}
	n.Carry(ctx, harness.Phases{Load: load, WarmUp: time.Second, Attack: func() {
		for range t.Options.Deaths {
			i := t.Rand.IntN(len(n.Servers))
			harness.Pause(ctx, randomBetween(n, 1, 2, t.Options.ShardLease))
			n.History(ctx, i)
			n.Kill(n.Servers[i])
			restartNode(ctx, n, n.Servers[i], false)
		}
	}})
	harness.Check(n.Servers[0].Run(ctx))
	began := time.Now()
	attempts, created := n.History(ctx, 0)
	took := time.Since(began)
	harness.Check(n.Servers[0].Stop(25 * time.Second))
	v := n.Judge()
	arrived := len(n.Evidence().Arrived)
	lost := arrived - attempts
	t.Note("the history has %d attempts of %d, %d creates of %d, read in %s", attempts, arrived, created, v.Accepted, verify.Millis(took))
	t.Must(attempts > 0 && lost >= 0, "no attempt is counted twice: %d", max(0, -lost))
	t.Must(lost <= t.Options.Deaths*harness.LoadRate/3, "lost %d attempts by %d kills, at most those of the last second of each", lost, t.Options.Deaths)
}
