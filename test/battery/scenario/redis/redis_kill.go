package redis

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// KillRedis: Redis killed -9 and started again, with a file that is synced
// always, and then with one that is synced every second.
func KillRedis(ctx context.Context, t *harness.Run) error {
	for _, fsync := range []string{"always", "everysec"} {
		r, err := redistest.Start(t.Path("redis-"+fsync), "--appendfsync", fsync)
		if err != nil {
			return err
		}
		v, err := underFaults(ctx, t, fsync, "redis://"+r.Addr, func(ctx context.Context, n *harness.Nodes) error {
			return killRedis(ctx, n, r)
		})
		r.Kill()
		if err != nil {
			return err
		}
		t.Must(fsync != "always" || len(v.Lost) == 0, "appendfsync %s: lost %d%s", fsync, len(v.Lost), verify.Examples(v.Lost))
		t.Must(fsync != "always" || len(v.AfterCancel) == 0, "appendfsync %s: delivered after a cancel's 200: %d%s", fsync, len(v.AfterCancel), verify.Examples(v.AfterCancel))
	}
	return nil
}

func killRedis(ctx context.Context, n *harness.Nodes, r *redistest.Server) error {
	for range n.Run.Options.RedisKills {
		if !timing.Pause(ctx, time.Second+time.Duration(n.Run.Rand.Int64N(int64(time.Second)))) {
			return ctx.Err()
		}
		if err := n.RecordFault("kill -9 of Redis", time.Now()); err != nil {
			return err
		}
		r.Kill()
		if !timing.Pause(ctx, time.Duration(n.Run.Rand.Int64N(int64(2*time.Second)))) {
			return ctx.Err()
		}
		if err := r.Restart(); err != nil {
			return err
		}
	}
	return nil
}
