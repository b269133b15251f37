package main

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// fair: a queue with a backlog, and one with a few tasks that come due while it
// is worked off. Both go to the same receiver, through few slots.
func fair(ctx context.Context, t *trial) error {
	const slots = 64
	st, err := t.stage(ctx, "--concurrency", fmt.Sprint(slots))
	if err != nil {
		return err
	}
	defer st.close()
	sink, err := startSink(st.path("sunk"))
	if err != nil {
		return err
	}
	defer sink.end()

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
	t.lateness("of the few", little.Late)
	t.note("the backlog was worked off %s after it was due", ms(percentile(backlog.Late, 100)))
	t.must(percentile(backlog.Late, 100) > after, "there was still a backlog when the few came due")
	first, err := big.between(readSunk(sink.path), small.due(0), little.Last)
	if err != nil {
		return err
	}
	// In turns it is as many as the few, and what was under way when they came due.
	const atMost = 2*few + 2*slots
	t.must(first <= atMost, "of the backlog came %d before the last of the few %d, at most %d", first, few, atMost)
	return nil
}

// between counts the arrivals of tasks from an instant up to another.
func (n numbered) between(arrivals iter.Seq2[sunkLine, error], from, to time.Time) (count int, err error) {
	for l, err := range arrivals {
		if err != nil {
			return 0, err
		}
		if _, ours := n.index(l.name); ours && l.at >= from.UnixNano() && l.at <= to.UnixNano() {
			count++
		}
	}
	return count, nil
}
