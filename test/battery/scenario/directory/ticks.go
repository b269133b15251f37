package directory

import (
	"context"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

const (
	// A kill comes so long before its tick at most, or after: an instant is dealt with, synced,
	// sent, answered and settled in this time.
	killBeforeTick, killAfterTick = 20 * time.Millisecond, 60 * time.Millisecond
	// A quarter of the kills come this soon after a start, while the server makes up for missed instants.
	killAfterStart = 600 * time.Millisecond
	// After an eighth of the kills no server runs for up to this long, so instants pass.
	longDown = 3 * time.Second
)

// Ticks: kill -9 around the ticks of schedules that fire every second.
func Ticks(ctx context.Context, t *harness.Run) error {
	st, err := t.NewEnvironment(ctx)
	if err != nil {
		return err
	}
	defer st.Close()

	k, err := st.StartTickers(ctx, 1)
	if err != nil {
		return err
	}
	if err := killAtTicks(ctx, st, t.Options.Ticks); err != nil {
		return err
	}
	timing.Pause(ctx, 5*time.Second) // time to make up for missed instants
	if err := st.StopTickers(ctx, k); err != nil {
		return err
	}
	if err := st.AwaitPromised(ctx, 60*time.Second); err != nil {
		return err
	}
	v, err := st.Conclude(ctx, 2*time.Second, 25*time.Second) // time for repeats
	if err != nil {
		return err
	}
	t.Note("kills %d, duplicates %d, by one kill at most %d", v.Faults, v.Duplicates, v.MostPerFault)
	t.Lateness("of first arrivals, downtime included", v.Late)
	return st.MustExpectAll()
}

// killAtTicks leaves a running server behind.
func killAtTicks(ctx context.Context, st *harness.Environment, kills int) error {
	for i := range kills {
		at, err := aim(ctx, st)
		if err != nil {
			return err
		}
		if !timing.Until(ctx, at) {
			return ctx.Err()
		}
		if err := st.Faults.Append(verify.Fault{Kind: "kill -9", At: st.Server.KillNow()}); err != nil {
			return err
		}
		st.Server.Reap()
		if st.Run.Rand.IntN(8) == 0 {
			timing.Pause(ctx, time.Duration(st.Run.Rand.Int64N(int64(longDown))))
		}
		if err := st.Server.Start(); err != nil {
			return err
		}
		if (i+1)%max(20, kills/20) == 0 {
			st.Run.Note("killed %d times", i+1)
		}
	}
	_, err := st.Server.Ready(ctx, 20*time.Second)
	return err
}

// aim returns the time at which to kill the server, which was started just now.
func aim(ctx context.Context, st *harness.Environment) (time.Time, error) {
	if st.Run.Rand.IntN(4) == 0 {
		return time.Now().Add(time.Duration(st.Run.Rand.Int64N(int64(killAfterStart)))), nil
	}
	if _, err := st.Server.Ready(ctx, 20*time.Second); err != nil {
		return time.Time{}, err
	}
	tick := time.Now().Add(killBeforeTick + 100*time.Millisecond).Truncate(time.Second).Add(time.Second)
	return tick.Add(time.Duration(st.Run.Rand.Int64N(int64(killBeforeTick+killAfterTick))) - killBeforeTick), nil
}
