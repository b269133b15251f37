// Package trial runs one measurement of one library in this process. The
// process is new for each measurement, and ends after it.
package trial

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/bench/counters"
	"github.com/foliot/foliot/bench/embed/contender"
	"github.com/foliot/foliot/bench/metric"
	"github.com/foliot/foliot/bench/usage"
)

// The kinds of measurements.
const (
	Create   = "Create"   // tasks that are due in an hour, one by one, for some time
	Batch    = "Batch"    // the same, many in a call
	Standing = "Standing" // tasks that are due in an hour, for their size
	Backlog  = "Backlog"  // tasks that are due when the handlers start
	Late     = "Late"     // tasks that are due evenly over some time
	Soon     = "Soon"     // tasks that are created a second before they are due
	Snapshot = "Snapshot" // the same for long, while another transaction of PostgreSQL holds a snapshot
	Writer   = "Writer"   // the same, while the transaction has written
	Idle     = "Idle"     // no task is due, for some time
	Kill     = "Kill"     // tasks that are due soon; the process is killed after the creates
	Hold     = "Hold"     // a handler that does not return; the process is killed while it runs
	reap     = "reap"     // the tasks of a killed process
)

// Order describes a measurement.
type Order struct {
	Part, Contender string
	N               int           // tasks
	Callers         int           // goroutines that create
	Each            int           // tasks in a call
	Over            time.Duration // duration of the measurement, or of all due times
	Limit           time.Duration // how long to wait for results
	Stores          contender.Stores
}

// Again is the name of the seconds until a handler runs after a crash.
const Again = "again_s"

// Node is a process that will be killed. Package child serves its method.
type Node struct{}

// Run runs the part of a measurement before the kill. The library stays open.
func (*Node) Run(o Order, _ *struct{}) error {
	t, err := open(context.Background(), o)
	if err != nil {
		return err
	}
	if o.Part == Hold {
		return t.holds(context.Background())
	}
	return t.createAll(context.Background(), func(int) time.Time { return millis(time.Now().Add(o.Over)) })
}

// Reap runs the tasks of a killed process, and returns their values.
func Reap(ctx context.Context, o Order) (metric.Values, error) {
	o.Part = reap
	return Run(ctx, o)
}

// Run runs one measurement.
func Run(ctx context.Context, o Order) (metric.Values, error) {
	t, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := t.run(ctx); err != nil {
		return nil, err
	}
	if err := t.lib.Stop(); err != nil {
		return nil, fmt.Errorf("stop: %w", err)
	}
	return t.v, t.lib.Close()
}

type trial struct {
	Order
	lib  *contender.Running
	v    metric.Values
	log  *counters.Counters // of the handlers that have started
	hold atomic.Bool        // handlers do not return before their context ends
}

func open(ctx context.Context, o Order) (*trial, error) {
	info, err := contender.Find(o.Contender)
	if err != nil {
		return nil, err
	}
	t := &trial{Order: o, v: metric.Values{}, log: counters.New(o.N, o.N)}
	t.lib, err = info.Open(ctx, o.Stores, t.handle)
	return t, err
}

func (t *trial) run(ctx context.Context) error {
	switch t.Part {
	case Create, Batch:
		return t.create(ctx)
	case Standing:
		return t.createAll(ctx, inAnHour())
	case Backlog:
		return t.backlog(ctx)
	case Late:
		return t.late(ctx)
	case Soon, Snapshot, Writer:
		return t.soon(ctx)
	case Idle:
		return t.idle(ctx)
	case reap:
		return t.reap(ctx)
	}
	return fmt.Errorf("there is no measurement %q", t.Part)
}

// handle is the handler of all tasks.
func (t *trial) handle(ctx context.Context, task contender.Task) error {
	t.log.Expect(task.I, t.log.At(task.Due))
	t.log.Fire(task.I)
	if t.hold.Load() {
		<-ctx.Done()
	}
	return nil
}

// holds returns while a handler runs.
func (t *trial) holds(ctx context.Context) error {
	t.hold.Store(true)
	if err := t.started(ctx); err != nil {
		return err
	}
	if err := t.lib.Create(ctx, contender.Task{I: 0, Due: millis(time.Now().Add(time.Second))}); err != nil {
		return err
	}
	if t.log.Wait(20*time.Second) > 0 {
		return errors.New("the handler did not start within 20 s")
	}
	return nil
}

// reap starts the handlers after a crash.
func (t *trial) reap(ctx context.Context) error {
	began := time.Now()
	if err := t.lib.Start(ctx); err != nil {
		return err
	}
	t.log.Wait(t.Limit)
	t.log.Judge(t.v)
	if t.v[metric.Fired] > 0 {
		first, _, _ := t.log.Span()
		t.v[Again] = (first - t.log.At(began)).Seconds()
	}
	return nil
}

// createAll creates N tasks, in batches if the library has them.
func (t *trial) createAll(ctx context.Context, due func(i int) time.Time) error {
	each := max(t.Each, 1)
	if t.lib.Batch == nil {
		each = 1
	}
	var next atomic.Int64
	return t.parallel(ctx, func(ctx context.Context) (bool, error) {
		from := int(next.Add(int64(each))) - each
		if from >= t.N {
			return false, nil
		}
		return true, t.createSome(ctx, from, min(from+each, t.N), due)
	})
}

func (t *trial) createSome(ctx context.Context, from, to int, due func(i int) time.Time) error {
	if t.lib.Batch == nil || to-from == 1 {
		for i := from; i < to; i++ {
			if err := t.lib.Create(ctx, contender.Task{I: i, Due: due(i)}); err != nil {
				return fmt.Errorf("create: %w", err)
			}
		}
		return nil
	}
	list := make([]contender.Task, 0, to-from)
	for i := from; i < to; i++ {
		list = append(list, contender.Task{I: i, Due: due(i)})
	}
	return t.lib.Batch(ctx, list)
}

// parallel calls work in Callers goroutines until it reports false or fails.
func (t *trial) parallel(ctx context.Context, work func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for range max(t.Callers, 1) {
		all.Go(func() {
			for ctx.Err() == nil {
				more, err := work(ctx)
				if err != nil {
					cancel(err)
				}
				if !more || err != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// millis rounds up to a millisecond.
func millis(t time.Time) time.Time { return t.Add(time.Millisecond - 1).Truncate(time.Millisecond) }

// spent returns the processor time of the program, with its handlers, and of the server.
func (t *trial) spent() time.Duration {
	return usage.CPU() + usage.Process(t.lib.PID) + usage.Process(t.Stores.PID)
}

// costs stores the processor time since before, per task.
func (t *trial) costs(before time.Duration, n int) {
	t.v[metric.CPUMicros] = metric.Micros(t.spent()-before) / float64(max(n, 1))
}
