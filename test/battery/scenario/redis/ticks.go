package redis

import (
	"context"
	"errors"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// Ticks: kill -9 of one of three nodes on Redis, again and again, while schedules of
// all of them fire every second.
func Ticks(ctx context.Context, t *harness.Run) error {
	n, err := t.StartNodes(ctx, ".", 3)
	if err != nil {
		return err
	}
	defer n.Close()

	n.Client = harness.NewClient(n.Servers[0].URL())
	k, err := n.StartTickers(ctx, 6)
	if err != nil {
		return err
	}
	if err := killNodesRepeatedly(ctx, n, t.Options.Deaths); err != nil {
		return err
	}
	timing.Pause(ctx, t.Options.ShardLease+5*time.Second)
	if err := n.StopTickers(ctx, k); err != nil {
		return err
	}
	if _, err := n.Conclude(ctx); err != nil {
		return err
	}
	return errors.Join(n.MustExpectAll(), mustDelays(n))
}
