package directory

import (
	"context"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
)

const killPause = 1200 * time.Millisecond // a server lives at most this long

// Kill: kill -9 at random moments, in the middle of a start too, while tasks
// are created, delivered and cancelled.
func Kill(ctx context.Context, t *harness.Run) {
	st := t.NewEnvironment(ctx)
	load := &harness.Load{Environment: st, Target: st.Client, Rate: harness.LoadRate, CancelShare: t.Options.Cancel}
	v := st.Conclude(ctx, harness.Phases{
		Load: load, Attack: func() { killRepeatedly(ctx, st, t.Options.Kills) },
		Drain: time.Minute, Quiet: 2 * time.Second, Stop: 25 * time.Second,
	})
	t.Note("kills %d", v.Faults)
	load.Report(t, v)
	t.Must(v.MostPerFault <= harness.MaxInFlight, "duplicates %d, by one kill at most %d; in flight at most %d", v.Duplicates, v.MostPerFault, harness.MaxInFlight)
	t.Lateness("of first arrivals, downtime included", v.Late)
}

// killRepeatedly kills the server at random moments. When it returns, the
// server runs.
func killRepeatedly(ctx context.Context, st *harness.Environment, kills int) {
	for i := range kills {
		lives := time.Duration(st.Run.Rand.Int64N(int64(killPause)))
		harness.Pause(ctx, lives)
		st.Kill(st.Server)
		harness.Check(st.Server.Start())
		if (i+1)%20 == 0 || i+1 == kills { // check now and then that the server can start: it may be killed before it is ready
			harness.OK(st.Server.Ready(ctx, 20*time.Second))
		}
		if (i+1)%max(20, kills/20) == 0 {
			st.Run.Note("killed %d times", i+1)
		}
	}
}
