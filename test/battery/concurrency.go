package main

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness/receiver"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// limitedConcurrency: so many at once.
func limitedConcurrency(ctx context.Context, st *stage) error {
	const concurrency, count, each = 5, 300, 20 * time.Millisecond
	if err := st.client.putQueue(ctx, "narrow", wire.QueueInput{Concurrency: concurrency}); err != nil {
		return err
	}
	st.receiver.Before = func(string) { timing.Pause(ctx, each) }
	start := timing.DueIn(time.Second)
	names, err := st.scheduleIn(ctx, "narrow", count, "narrow", func(int) time.Time { return start })
	if err != nil {
		return err
	}
	missing := st.receiver.AwaitAll(ctx, names, 20*time.Second)
	took, wanted := time.Since(start), count/concurrency*each
	st.t.must(missing == 0, "delivered %d of %d", count-missing, count)
	st.t.must(st.receiver.MostOpen() == concurrency, "under way at once %d, and no more: the limit is %d", st.receiver.MostOpen(), concurrency)
	st.t.note("delivered over %.2f s; with nothing in between it is %.2f s", took.Seconds(), wanted.Seconds())
	return nil
}

// limitedPerDestination: so many at once to each of two receivers.
func limitedPerDestination(ctx context.Context, st *stage) error {
	const perDestination, count, each = 2, 100, 20 * time.Millisecond
	other, err := receiver.Open(st.path("arrived")) // both append to the same log
	if err != nil {
		return err
	}
	defer func() { _ = other.Close() }() // each line was synced when it was written
	if err := st.client.putQueue(ctx, "split", wire.QueueInput{PerDestination: perDestination}); err != nil {
		return err
	}
	start := timing.DueIn(time.Second)
	due := func(int) time.Time { return start }
	for _, r := range []*receiver.Receiver{st.receiver, other} {
		r.Before = func(string) { timing.Pause(ctx, each) }
	}
	here, err := st.scheduleTo(ctx, st.receiver, "split", count, "here", due)
	if err != nil {
		return err
	}
	there, err := st.scheduleTo(ctx, other, "split", count, "there", due)
	if err != nil {
		return err
	}
	missing := st.receiver.AwaitAll(ctx, here, 20*time.Second) + other.AwaitAll(ctx, there, 20*time.Second)
	st.t.must(missing == 0, "delivered %d of %d", 2*count-missing, 2*count)
	st.t.must(st.receiver.MostOpen() == perDestination && other.MostOpen() == perDestination,
		"under way at once %d and %d, and no more: the limit is %d each", st.receiver.MostOpen(), other.MostOpen(), perDestination)
	return nil
}
