package directory

import (
	"context"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

const killPause = 1200 * time.Millisecond // a server lives at most so long

// Kill: kill -9 at random moments, in the middle of a start too, while tasks
// are created, delivered and cancelled.
func Kill(ctx context.Context, t *harness.Run) error {
	st, err := t.NewEnvironment(ctx)
	if err != nil {
		return err
	}
	defer st.Close()

	load := &harness.Load{Environment: st, Target: st.Client, Rate: harness.LoadRate, CancelShare: t.Options.Cancel}
	if err := load.During(ctx, func() error { return killRepeatedly(ctx, st, t.Options.Kills) }); err != nil {
		return err
	}
	return concludeKills(ctx, st, load)
}

// killRepeatedly leaves a running server behind.
func killRepeatedly(ctx context.Context, st *harness.Environment, kills int) error {
	for i := range kills {
		lives := time.Duration(st.Run.Rand.Int64N(int64(killPause)))
		if !timing.Pause(ctx, lives) {
			return ctx.Err()
		}
		if err := st.Faults.Append(verify.Fault{Kind: "kill -9", At: st.Server.KillNow()}); err != nil {
			return err
		}
		st.Server.Reap()
		if err := st.Server.Start(); err != nil {
			return err
		}
		if (i+1)%20 == 0 || i+1 == kills { // prove now and then that it comes up at all: others die while they start
			if _, err := st.Server.Ready(ctx, 20*time.Second); err != nil {
				return err
			}
		}
		if (i+1)%max(20, kills/20) == 0 {
			st.Run.Note("killed %d times", i+1)
		}
	}
	return nil
}

func concludeKills(ctx context.Context, st *harness.Environment, load *harness.Load) error {
	if err := st.AwaitPromised(ctx, 60*time.Second); err != nil {
		return err
	}
	v, err := st.Conclude(ctx, 2*time.Second, 25*time.Second) // time for repeats, and for callbacks after a cancel
	if err != nil {
		return err
	}
	t := st.Run
	t.Note("kills %d", v.Faults)
	load.Report(t, v)
	t.Must(v.MostPerFault <= harness.MaxInFlight, "duplicates %d, by one kill at most %d; in flight at most %d", v.Duplicates, v.MostPerFault, harness.MaxInFlight)
	t.Lateness("of first arrivals, downtime included", v.Late)
	return nil
}
