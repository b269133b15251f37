package redis

import (
	"context"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// Ticks: kill -9 of one of three nodes on Redis, again and again, while schedules of
// all of them fire every second.
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
