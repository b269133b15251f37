package trial

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/bench/metric"
)

// inAnHour returns a function with the due time of tasks that only wait.
func inAnHour() func(int) time.Time {
	due := millis(time.Now().Add(time.Hour))
	return func(int) time.Time { return due }
}

// create creates tasks for some time.
func (t *trial) create(ctx context.Context) error {
	each := 1
	if t.Part == Batch {
		each = t.Each
	}
	var next, created atomic.Int64
	due, before, began := inAnHour(), t.spent(), time.Now()
	err := t.parallel(ctx, func(ctx context.Context) (bool, error) {
		if time.Since(began) >= t.Over {
			return false, nil
		}
		from := int(next.Add(int64(each))) - each
		err := t.createSome(ctx, from, from+each, due)
		created.Add(int64(each))
		return true, err
	})
	if err != nil {
		return err
	}
	n := int(created.Load())
	t.v[metric.Rate] = float64(n) / time.Since(began).Seconds()
	t.costs(before, n)
	return nil
}

// lead returns the time from the first create to the first due time. If the
// lateness is measured, it is longer than 5 s, so that the scheduler of River,
// which runs every 5 s, has found all tasks.
func (t *trial) lead() time.Duration {
	least := 2 * time.Second
	if t.Part == Late {
		least = 6 * time.Second
	}
	return least + time.Duration(t.N)*time.Millisecond/2
}

// ahead creates all tasks before the first is due, and returns the due time of
// the first. It returns an error if the creates took too long.
func (t *trial) ahead(ctx context.Context) (first time.Time, err error) {
	first = millis(time.Now().Add(t.lead()))
	began := time.Now()
	err = t.createAll(ctx, func(i int) time.Time { return millis(first.Add(t.Over * time.Duration(i) / time.Duration(t.N))) })
	if err == nil && time.Now().After(first) {
		err = fmt.Errorf("creating %d tasks took %v, and some were due before that", t.N, time.Since(began).Round(time.Millisecond))
	}
	return first, err
}

// backlog starts the handlers when all tasks are due.
func (t *trial) backlog(ctx context.Context) error {
	first, err := t.ahead(ctx)
	if err != nil {
		return err
	}
	time.Sleep(time.Until(first.Add(10 * time.Millisecond)))
	before := t.spent()
	if err := t.lib.Start(ctx); err != nil {
		return err
	}
	t.log.Wait(t.Limit)
	if err := t.lib.Stop(); err != nil {
		return err
	}
	t.lib.Stop = func() error { return nil }
	t.log.Judge(t.v)
	t.costs(before, int(t.v[metric.Fired]))
	_, _, t.v[metric.Rate] = t.log.Span()
	return nil
}

// late measures the lateness of tasks that are created long before.
func (t *trial) late(ctx context.Context) error {
	if err := t.started(ctx); err != nil {
		return err
	}
	before := t.spent()
	first, err := t.ahead(ctx)
	if err != nil {
		return err
	}
	t.log.Wait(time.Until(first) + t.Over + t.Limit)
	t.settled()
	t.log.Judge(t.v)
	t.costs(before, t.N)
	return nil
}

// soon measures the lateness of tasks that are created a second before. In PostgreSQL next
// to another transaction, it is 6 seconds, so that the scheduler of River is no cause.
func (t *trial) soon(ctx context.Context) error {
	if err := t.started(ctx); err != nil {
		return err
	}
	lead := time.Second
	if t.Part != Soon {
		end, err := t.transaction(ctx)
		if err != nil {
			return err
		}
		defer end()
		lead = 6 * time.Second
	}
	before, began := t.spent(), time.Now()
	var next atomic.Int64
	err := t.parallel(ctx, func(ctx context.Context) (bool, error) {
		i := int(next.Add(1)) - 1
		if i >= t.N {
			return false, nil
		}
		time.Sleep(time.Until(began.Add(t.Over * time.Duration(i) / time.Duration(t.N))))
		due := millis(time.Now().Add(lead))
		return true, t.createSome(ctx, i, i+1, func(int) time.Time { return due })
	})
	if err != nil {
		return err
	}
	t.log.Wait(lead + t.Limit)
	t.settled()
	t.log.Judge(t.v)
	t.costs(before, t.N)
	return nil
}

// transaction begins another transaction in PostgreSQL, which end ends.
func (t *trial) transaction(ctx context.Context) (end func(), err error) {
	c, err := pgx.Connect(ctx, t.Stores.Postgres)
	if err != nil {
		return nil, err
	}
	_, err = c.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_snapshot()")
	if err == nil && t.Part == Writer {
		_, err = c.Exec(ctx, "SELECT pg_current_xact_id()")
	}
	return func() { _ = c.Close(ctx) }, err
}

// started starts the handlers, and waits until the library has done the work of
// its start: River elects a leader, and Foliot takes its shards.
func (t *trial) started(ctx context.Context) error {
	if err := t.lib.Start(ctx); err != nil {
		return err
	}
	time.Sleep(6 * time.Second)
	return nil
}

// settled waits until the results of the last handlers are stored.
func (*trial) settled() { time.Sleep(300 * time.Millisecond) }

// idle measures a library with handlers and with tasks that only wait.
func (t *trial) idle(ctx context.Context) error {
	if err := t.createAll(ctx, inAnHour()); err != nil {
		return err
	}
	if err := t.started(ctx); err != nil {
		return err
	}
	before, began := t.spent(), time.Now()
	time.Sleep(t.Over)
	t.v["cpu_ms"] = metric.Millis(t.spent()-before) / time.Since(began).Seconds()
	return nil
}
