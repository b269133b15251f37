package directory

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// Limits: the limits of a queue, as the receiver sees them.
func Limits(ctx context.Context, t *harness.Run) error {
	for _, part := range []struct {
		name string
		run  func(context.Context, *harness.Environment) error
	}{{"rate", limitedRate}, {"concurrency", limitedConcurrency}, {"destinations", limitedPerDestination}, {"pause", paused}} {
		if err := runLimit(ctx, t, part.name, part.run); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// runLimit runs one part in an environment of its own, and checks the promises of every scenario.
func runLimit(ctx context.Context, t *harness.Run, name string, run func(context.Context, *harness.Environment) error) error {
	st, err := t.NewEnvironmentIn(ctx, name)
	if err != nil {
		return err
	}
	defer st.Close()
	t.Note("%s:", name)
	if err := run(ctx, st); err != nil {
		return err
	}
	if err := st.Server.Stop(10 * time.Second); err != nil {
		return err
	}
	_, err = st.Judge()
	return err
}

// limitedRate: so many a second, after a burst, over any window.
func limitedRate(ctx context.Context, st *harness.Environment) error {
	const rate, burst, count = 50, 10, 600
	if err := st.Client.PutQueue(ctx, "rate", wire.QueueInput{Rate: rate, Burst: burst}); err != nil {
		return err
	}
	start := timing.DueIn(2 * time.Second)
	names, err := st.ScheduleIn(ctx, "rate", count, "rate", func(int) time.Time { return start })
	if err != nil {
		return err
	}
	machine := system.WatchJitter(ctx)
	missing := st.Receiver.AwaitAll(ctx, names, 30*time.Second)
	jitter := verify.Percentile(machine.End(), 100)
	e, err := st.Evidence()
	if err != nil {
		return err
	}
	arrivals := verify.ArrivalTimes(e)
	// The longest delay of this machine. Two requests may arrive closer together
	// than they were sent, by up to this much, because one of them was late.
	allowed := 1 + rate*(jitter+5*time.Millisecond).Seconds()
	over := verify.RateExcess(arrivals, rate, burst)
	st.Run.Must(missing == 0, "delivered %d of %d", count-missing, count)
	st.Run.Must(over <= allowed, "beyond burst + rate x time, in the worst window: %.2f, at most %.2f by this machine's jitter of %s", over, allowed, verify.Millis(jitter))
	took, wanted := arrivals[len(arrivals)-1].Sub(arrivals[0]), time.Duration(count-burst)*time.Second/rate
	st.Run.Must(took <= wanted+wanted/20, "delivered over %.2f s; at the full rate it is %.2f s", took.Seconds(), wanted.Seconds())
	return nil
}
