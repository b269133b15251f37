package main

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness/receiver"
	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// steady: a quiet server, some load, nothing goes wrong.
func steady(ctx context.Context, t *trial) error {
	st, err := t.stage(ctx)
	if err != nil {
		return err
	}
	defer st.close()

	const count, spread = 2000, 5 * time.Second
	names, err := st.schedule(ctx, count, "steady", func(i int) time.Time {
		return timing.DueIn(2*time.Second + time.Duration(t.rand.Int64N(int64(spread))))
	})
	if err != nil {
		return err
	}
	machine := system.WatchJitter(ctx)
	st.receiver.AwaitAll(ctx, names, 30*time.Second)
	timing.Pause(ctx, time.Second) // a duplicate would come about now
	idle := machine.End()
	if err := st.server.stop(10 * time.Second); err != nil {
		return err
	}
	v, err := st.judge()
	if err != nil {
		return err
	}
	t.must(v.Duplicates == 0, "duplicates %d", v.Duplicates)
	t.lateness("of a process that only sleeps, meanwhile", idle)
	p99 := t.lateness("of all", v.Late)
	t.must(p99 <= 10*time.Millisecond, "lateness p99 %s, at most 10 ms", verify.Millis(p99))
	return nil
}

// schedule creates tasks in batches and writes down that they were accepted.
func (st *stage) schedule(ctx context.Context, count int, prefix string, due func(i int) time.Time) ([]string, error) {
	return st.scheduleIn(ctx, "", count, prefix, due)
}

// scheduleIn is schedule for tasks of a queue.
func (st *stage) scheduleIn(ctx context.Context, queue string, count int, prefix string, due func(i int) time.Time) ([]string, error) {
	return st.scheduleTo(ctx, st.receiver, queue, count, prefix, due)
}

// scheduleTo is scheduleIn to another receiver than the stage's own.
func (st *stage) scheduleTo(ctx context.Context, to *receiver.Receiver, queue string, count int, prefix string, due func(i int) time.Time) ([]string, error) {
	names := make([]string, count)
	tasks := make([]wire.TaskInput, count)
	dues := make([]time.Time, count)
	for i := range count {
		names[i], dues[i] = fmt.Sprintf("%s-%d", prefix, i), due(i).Truncate(time.Millisecond)
		tasks[i] = input(names[i], to.URL(), dues[i])
		tasks[i].Queue = queue
	}
	if err := st.client.createAll(ctx, tasks); err != nil {
		return nil, err
	}
	return names, timing.InParallel(count, 64, func(i int) error { return st.promised(names[i], dues[i]) })
}
