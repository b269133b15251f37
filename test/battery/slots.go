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
			if err := reshard(ctx, c, i%3, (i+1)%3); err != nil {
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

const (
	slotsAtOnce = 500 // so many that several shards lie in them
	slotsWithin = 2 * time.Minute
)

func reshard(ctx context.Context, c *redistest.Cluster, from, to int) error {
	ctx, stop := context.WithTimeout(ctx, slotsWithin)
	defer stop()
	return c.Reshard(ctx, from, to, slotsAtOnce)
}
