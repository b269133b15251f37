package redis

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/test/battery/harness"
)

// MoveSlots: slots go from one master to another while two nodes work.
func MoveSlots(ctx context.Context, t *harness.Run) error {
	c, err := redistest.StartCluster(t.Path("redis"), 3, 0)
	if err != nil {
		c.Close()
		return err
	}
	defer c.Close()
	v, err := underFaults(ctx, t, ".", "redis+cluster://"+c.Servers[0].Addr, func(ctx context.Context, n *harness.Nodes) error {
		for i := range t.Options.SlotMoves {
			if err := n.RecordFault("slots moved", time.Now()); err != nil {
				return err
			}
			if err := reshard(ctx, c, i%3, (i+1)%3); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	mustKeep(t, v)
	return nil
}

const (
	slotsAtOnce = 500 // so many that several shards lie in them
	slotsWithin = 2 * time.Minute
)

func reshard(ctx context.Context, c *redistest.Cluster, from, to int) error {
	ctx, stop := context.WithTimeout(ctx, slotsWithin)
	defer stop()
	return c.Reshard(ctx, from, to, slotsAtOnce)
}
