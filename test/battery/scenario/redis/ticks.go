package redis

import (
	"context"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// Ticks: one of three nodes on Redis is killed with kill -9, again and again,
// while schedules fire every second on all of them.
func Ticks(ctx context.Context, t *harness.Run) {
	n := t.StartNodes(ctx, ".", 3)
	k := n.StartTickers(ctx, 6)
	killNodesRepeatedly(ctx, n, t.Options.Deaths)
	timing.Pause(ctx, t.Options.ShardLease+5*time.Second)
	n.StopTickers(ctx, k)
	n.Conclude(ctx, harness.Phases{})
	n.MustExpectAll()
	mustDelays(n)
}
