package main

import (
	"context"
	"time"
)

// nodeDeaths: kill -9 of one node after another, in the middle of a start too,
// while tasks are created at all of them, delivered and cancelled.
func nodeDeaths(ctx context.Context, t *trial) error {
	n, err := t.onRedis(ctx, ".", 3)
	if err != nil {
		return err
	}
	defer n.close()

	load := &killLoad{st: n.stage, to: n.doors, rate: killRate, share: t.opts.cancel}
	stop := inBackground(ctx, load.run)
	err = n.killRepeatedly(ctx, t.opts.deaths)
	stop()
	if err != nil {
		return err
	}
	v, err := n.conclude(ctx)
	if err != nil {
		return err
	}
	load.report(t, v)
	return n.mustDelays()
}

// killRepeatedly kills one node at a time, and starts it again. Between two
// deaths there is time for what the first has delayed, so that each task's
// lateness has one cause.
func (n *nodes) killRepeatedly(ctx context.Context, deaths int) error {
	o := n.t.opts
	for i := range deaths {
		victim := n.list[n.t.rand.IntN(len(n.list))]
		if !pause(ctx, jittered(n.t.rand.Float64(), o.taskLease+time.Second)) {
			return ctx.Err()
		}
		if err := n.fault("kill -9", victim.killNow()); err != nil {
			return err
		}
		victim.reap()
		if !pause(ctx, time.Duration(n.t.rand.Int64N(int64(2*o.shardLease)))) {
			return ctx.Err()
		}
		if err := victim.run(ctx); err != nil {
			return err
		}
		if (i+1)%max(4, deaths/20) == 0 {
			n.t.note("killed %d times", i+1)
		}
	}
	return nil
}

// jittered returns a time between d and half as much again.
func jittered(dice float64, d time.Duration) time.Duration {
	return d + time.Duration(dice*float64(d)/2)
}
