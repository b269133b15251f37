package redis

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/verify"
)

// KillRedis: Redis is killed with kill -9 and started again. Its file is synced
// at each write in the first part, and every second in the second part.
func KillRedis(ctx context.Context, t *harness.Run) {
	for _, fsync := range []string{"always", "everysec"} {
		r := t.StartRedis("redis-"+fsync, "--appendfsync", fsync)
		v := underFaults(ctx, t, fsync, "redis://"+r.Addr, func(n *harness.Environment) { killRedis(ctx, n, r) })
		t.Must(fsync != "always" || len(v.Lost) == 0, "appendfsync %s: lost %d%s", fsync, len(v.Lost), verify.Examples(v.Lost))
		t.Must(fsync != "always" || len(v.AfterCancel) == 0, "appendfsync %s: delivered after a cancel's 200: %d%s", fsync, len(v.AfterCancel), verify.Examples(v.AfterCancel))
	}
}

func killRedis(ctx context.Context, n *harness.Environment, r *redistest.Server) {
	for range n.Run.Options.RedisKills {
		harness.Pause(ctx, time.Second+time.Duration(n.Run.Rand.Int64N(int64(time.Second))))
		n.RecordFault("kill -9 of Redis", time.Now())
		r.Kill()
		harness.Pause(ctx, time.Duration(n.Run.Rand.Int64N(int64(2*time.Second))))
		harness.Check(r.Restart())
	}
}
