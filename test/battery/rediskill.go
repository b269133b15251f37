package main

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// redisKilled: Redis killed -9 and started again, with a file that is synced
// always, and then with one that is synced every second.
func redisKilled(ctx context.Context, t *trial) error {
	for _, fsync := range []string{"always", "everysec"} {
		r, err := redistest.Start(t.path("redis-"+fsync), "--appendfsync", fsync)
		if err != nil {
			return err
		}
		v, err := t.underFaults(ctx, fsync, "redis://"+r.Addr, func(ctx context.Context, n *nodes) error {
			return n.killRedis(ctx, r)
		})
		r.Kill()
		if err != nil {
			return err
		}
		t.must(fsync != "always" || len(v.Lost) == 0, "appendfsync %s: lost %d%s", fsync, len(v.Lost), verify.Examples(v.Lost))
		t.must(fsync != "always" || len(v.AfterCancel) == 0, "appendfsync %s: delivered after a cancel's 200: %d%s", fsync, len(v.AfterCancel), verify.Examples(v.AfterCancel))
	}
	return nil
}

func (n *nodes) killRedis(ctx context.Context, r *redistest.Server) error {
	for range n.t.opts.redisKills {
		if !timing.Pause(ctx, time.Second+time.Duration(n.t.rand.Int64N(int64(time.Second)))) {
			return ctx.Err()
		}
		if err := n.fault("kill -9 of Redis", time.Now()); err != nil {
			return err
		}
		r.Kill()
		if !timing.Pause(ctx, time.Duration(n.t.rand.Int64N(int64(2*time.Second)))) {
			return ctx.Err()
		}
		if err := r.Restart(); err != nil {
			return err
		}
	}
	return nil
}
