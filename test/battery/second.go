package main

import (
	"context"
	"errors"
	"time"

	"github.com/foliot/foliot/test/battery/harness/receiver"
	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// second: a herd of tasks that are all due within one second, beside another
// queue with a few tasks a second. Twice, to show whether memory grows with
// the backlog.
func second(ctx context.Context, t *trial) error {
	small, err := t.herd(ctx, "small-herd", t.opts.herd/5)
	if err != nil {
		return err
	}
	large, err := t.herd(ctx, "herd", t.opts.herd)
	if err != nil {
		return err
	}
	t.mustBeFlat(small, large)
	return nil
}

// mustBeFlat compares the memory that a herd took with that of a fifth of it.
func (t *trial) mustBeFlat(small, large system.MemoryUse) {
	const known = 100_000 // tasks that a server may know in memory: up to these it grows
	if t.opts.herd/5 < known {
		t.note("memory's peak %d MB with %d tasks, %d MB with %d; too few to judge by", small.Peak>>20, t.opts.herd/5, large.Peak>>20, t.opts.herd)
		return
	}
	t.must(flat(small.Peak, large.Peak), "memory's peak %d MB with %d tasks, %d MB with %d", small.Peak>>20, t.opts.herd/5, large.Peak>>20, t.opts.herd)
}

// flat reports whether a peak does not grow with the backlog, but for a quarter
// and what a garbage collector may differ by from run to run.
func flat(small, large int64) bool { return large <= small+small/4+32<<20 }

// herd runs one herd on a server of its own and returns that server's memory,
// from before the import until all was delivered.
func (t *trial) herd(ctx context.Context, name string, count int) (system.MemoryUse, error) {
	st, err := t.stageIn(ctx, name)
	if err != nil {
		return system.MemoryUse{}, err
	}
	defer st.close()
	sink, err := receiver.StartFast(st.path("sunk"))
	if err != nil {
		return system.MemoryUse{}, err
	}
	defer sink.End()
	memory := system.WatchMemory(ctx, st.server.pid())
	defer memory.End()

	start := timing.DueIn(leadFor(count))
	herd := verify.Numbered{Prefix: name, Count: count, Due: func(i int) time.Time {
		return start.Add(time.Duration(i%1000) * time.Millisecond)
	}}
	if err := st.importNumbered(ctx, herd, "herd", sink.URL()); err != nil {
		return system.MemoryUse{}, err
	}
	beside := st.bystand(ctx, 10)
	err = receiver.AwaitDeliveries(ctx, sink, count, start, 30*time.Second)
	err = errors.Join(err, beside.end(ctx))
	seen := memory.End()
	if err != nil {
		return seen, err
	}
	return seen, st.concludeHerd(herd, sink, seen)
}

func (st *stage) concludeHerd(herd verify.Numbered, sink *receiver.Fast, seen system.MemoryUse) error {
	if err := st.server.stop(20 * time.Second); err != nil {
		return err
	}
	if err := sink.Close(); err != nil {
		return err
	}
	t := st.t
	v, err := t.mustTally(herd, sink.Path)
	if err != nil {
		return err
	}
	t.note("drained in %.1f s, %.0f deliveries a second", v.Last.Sub(v.First).Seconds(), v.Rate)
	t.note("memory: %v", seen)
	t.note("the bystanders:")
	beside, err := st.judge()
	if err != nil {
		return err
	}
	p99 := t.lateness("of the bystanders", beside.Late)
	t.must(p99 <= time.Second, "bystanders' p99 %s, at most 1 s", verify.Millis(p99))
	return nil
}
