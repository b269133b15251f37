package main

import (
	"context"
	"time"
)

// fair: a queue with a backlog, and one with a few tasks that come due while it
// is worked off. Both go to the same receiver, through few slots.
func fair(ctx context.Context, t *trial) error {
	const slots = "64"
	st, err := t.stage(ctx, "--concurrency", slots)
	if err != nil {
		return err
	}
	defer st.close()
	sink, err := startSink(st.path("sunk"))
	if err != nil {
		return err
	}
	defer sink.close()

	const few, after = 100, 200 * time.Millisecond
	start := dueIn(leadFor(t.opts.backlog))
	big := numbered{prefix: "big", count: t.opts.backlog, due: func(int) time.Time { return start }}
	small := numbered{prefix: "small", count: few, due: func(int) time.Time { return start.Add(after) }}
	if err := st.importNumbered(ctx, small, "small", sink.url()); err != nil {
		return err
	}
	if err := st.importNumbered(ctx, big, "big", sink.url()); err != nil {
		return err
	}
	if err := awaitSunk(ctx, sink, big.count+small.count, start, 30*time.Second); err != nil {
		return err
	}
	if err := st.server.stop(20 * time.Second); err != nil {
		return err
	}
	if err := sink.close(); err != nil {
		return err
	}
	backlog, err := t.mustTally(big, sink.path)
	if err != nil {
		return err
	}
	little, err := t.mustTally(small, sink.path)
	if err != nil {
		return err
	}
	p99 := t.lateness("of the few", little.Late)
	t.note("the backlog was worked off %s after it was due, the few tasks %s after they were", ms(percentile(backlog.Late, 100)), ms(percentile(little.Late, 100)))
	t.must(percentile(backlog.Late, 100) > after, "there was still a backlog when the few came due")
	t.must(p99 <= time.Second, "p99 of the few %s, at most 1 s", ms(p99))
	return nil
}
