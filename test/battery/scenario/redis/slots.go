package redis

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/test/battery/harness"
)

// MoveSlots: slots are moved from one master to another while two nodes work.
func MoveSlots(ctx context.Context, t *harness.Run) {
	c := startCluster(t, t.Path("redis"), 3, 0)
	v := underFaults(ctx, t, ".", "redis+cluster://"+c.Servers[0].Addr, func(n *harness.Environment) {
		for i := range t.Options.SlotMoves {
			n.RecordFault("slots moved", time.Now())
			reshard(ctx, c, i%3, (i+1)%3)
		}
	})
	mustKeep(t, v)
}

const (
	slotsAtOnce = 500 // enough to contain several shards
	slotsWithin = 2 * time.Minute
)

func reshard(ctx context.Context, c *redistest.Cluster, from, to int) {
	ctx, stop := context.WithTimeout(ctx, slotsWithin)
	defer stop()
	harness.Check(c.Reshard(ctx, from, to, slotsAtOnce))
}
