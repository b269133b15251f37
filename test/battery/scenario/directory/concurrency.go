package directory

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/receiver"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// limitedConcurrency: so many at once.
func limitedConcurrency(ctx context.Context, st *harness.Environment) error {
	const concurrency, count, each = 5, 300, 20 * time.Millisecond
	if err := st.Client.PutQueue(ctx, "narrow", wire.QueueInput{Concurrency: concurrency}); err != nil {
		return err
	}
	st.Receiver.Before = func(string) { timing.Pause(ctx, each) }
	start := timing.DueIn(time.Second)
	names, err := st.ScheduleIn(ctx, "narrow", count, "narrow", func(int) time.Time { return start })
	if err != nil {
		return err
	}
	missing := st.Receiver.AwaitAll(ctx, names, 20*time.Second)
	took, wanted := time.Since(start), count/concurrency*each
	st.Run.Must(missing == 0, "delivered %d of %d", count-missing, count)
	st.Run.Must(st.Receiver.MostOpen() == concurrency, "under way at once %d, and no more: the limit is %d", st.Receiver.MostOpen(), concurrency)
	st.Run.Note("delivered over %.2f s; with nothing in between it is %.2f s", took.Seconds(), wanted.Seconds())
	return nil
}

// limitedPerDestination: so many at once to each of two receivers.
func limitedPerDestination(ctx context.Context, st *harness.Environment) error {
	const perDestination, count, each = 2, 100, 20 * time.Millisecond
	other, err := receiver.Open(st.Path("arrived")) // both append to the same log
	if err != nil {
		return err
	}
	defer func() { _ = other.Close() }() // each line was synced when it was written
	if err := st.Client.PutQueue(ctx, "split", wire.QueueInput{PerDestination: perDestination}); err != nil {
		return err
	}
	start := timing.DueIn(time.Second)
	due := func(int) time.Time { return start }
	for _, r := range []*receiver.Receiver{st.Receiver, other} {
		r.Before = func(string) { timing.Pause(ctx, each) }
	}
	here, err := st.ScheduleTo(ctx, st.Receiver, "split", count, "here", due)
	if err != nil {
		return err
	}
	there, err := st.ScheduleTo(ctx, other, "split", count, "there", due)
	if err != nil {
		return err
	}
	missing := st.Receiver.AwaitAll(ctx, here, 20*time.Second) + other.AwaitAll(ctx, there, 20*time.Second)
	st.Run.Must(missing == 0, "delivered %d of %d", 2*count-missing, 2*count)
	st.Run.Must(st.Receiver.MostOpen() == perDestination && other.MostOpen() == perDestination,
		"under way at once %d and %d, and no more: the limit is %d each", st.Receiver.MostOpen(), other.MostOpen(), perDestination)
	return nil
}
