package main

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/redistest"
)

// slotsMoved: slots go from one master to another while two nodes work.
func slotsMoved(ctx context.Context, t *trial) error {
	c, err := redistest.StartCluster(t.path("redis"), 3, 0)
	if err != nil {
		c.Close()
		return err
	}
	defer c.Close()
	v, err := t.underFaults(ctx, ".", "redis+cluster://"+c.Servers[0].Addr, func(ctx context.Context, n *nodes) error {
		for i := range t.opts.slotMoves {
			if err := n.fault("slots moved", time.Now()); err != nil {
				return err
			}
			if err := c.Reshard(ctx, i%3, (i+1)%3, slotsAtOnce); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.mustKeep(v)
	return nil
}

// slotsAtOnce are so many that several shards lie in them.
const slotsAtOnce = 500
