package directory

import (
	"context"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

const (
	// A kill comes at most this long before its tick, or after it. During this
	// time the task of the instant is created, synced, sent, answered and
	// settled.
	killBeforeTick, killAfterTick = 20 * time.Millisecond, 60 * time.Millisecond
	// A quarter of the kills come at most this long after a start, while the
	// server creates the tasks of missed instants.
	killAfterStart = 600 * time.Millisecond
	// After an eighth of the kills no server runs for up to this long, so
	// instants are missed.
	longDown = 3 * time.Second
)

// Ticks: kill -9 around the ticks of schedules that fire every second.
func Ticks(ctx context.Context, t *harness.Run) {
	st := t.NewEnvironment(ctx)
	k := st.StartTickers(ctx, 1)
	killAtTicks(ctx, st, t.Options.Ticks)
	timing.Pause(ctx, 5*time.Second) // time to create the tasks of missed instants
	st.StopTickers(ctx, k)
	v := st.Conclude(ctx, harness.Phases{Drain: time.Minute, Quiet: 2 * time.Second, Stop: 25 * time.Second})
	t.Note("kills %d, duplicates %d, by one kill at most %d", v.Faults, v.Duplicates, v.MostPerFault)
	t.Lateness("of first arrivals, downtime included", v.Late)
	st.MustExpectAll()
}

// killAtTicks kills the server around ticks. When it returns, the server runs.
func killAtTicks(ctx context.Context, st *harness.Environment, kills int) {
	for i := range kills {
		at := aim(ctx, st)
		harness.Until(ctx, at)
		st.Kill(st.Server)
		if st.Run.Rand.IntN(8) == 0 {
			timing.Pause(ctx, time.Duration(st.Run.Rand.Int64N(int64(longDown))))
		}
		harness.Check(st.Server.Start())
		if (i+1)%max(20, kills/20) == 0 {
			st.Run.Note("killed %d times", i+1)
		}
	}
	harness.OK(st.Server.Ready(ctx, 20*time.Second))
}

// aim returns the time of the next kill. The server was started just now.
func aim(ctx context.Context, st *harness.Environment) time.Time {
	if st.Run.Rand.IntN(4) == 0 {
		return time.Now().Add(time.Duration(st.Run.Rand.Int64N(int64(killAfterStart))))
	}
	harness.OK(st.Server.Ready(ctx, 20*time.Second))
	tick := time.Now().Add(killBeforeTick + 100*time.Millisecond).Truncate(time.Second).Add(time.Second)
	return tick.Add(time.Duration(st.Run.Rand.Int64N(int64(killBeforeTick+killAfterTick))) - killBeforeTick)
}
