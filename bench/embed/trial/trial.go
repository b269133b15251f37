// Package trial runs one measurement of one library in this process. The
// process is new for each measurement, and ends after it.
package trial

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/bench/embed/contender"
	"github.com/foliot/foliot/bench/embed/server"
	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/bench/usage"
)

// Role is the role of the processes that measure.
const Role = "embed"

// The kinds of measurements.
const (
	Create   = "create"   // tasks that are due in an hour, one by one, for some time
	Batch    = "batch"    // the same, many in a call
	Standing = "standing" // tasks that are due in an hour, for their size
	Handle   = "handle"   // tasks that are due when the handlers start
	Late     = "late"     // tasks that are due evenly over some time
	Soon     = "soon"     // tasks that are created a second before they are due
	Idle     = "idle"     // no task is due, for some time
	Facts    = "facts"    // the promises of the library, by experiment
	Plant    = "plant"    // tasks that are due soon; the process is killed after the creates
	Hold     = "hold"     // a handler that does not return; the process is killed while it runs
	Reap     = "reap"     // the tasks of a killed process
)

// Order is a job with the stores of its contender.
type Order struct {
	record.Job
	Stores contender.Stores
}

// The names of values, besides those of package record.
const (
	Rate      = "per_second"
	OwnUs     = "own_us"    // processor time of the program, per task
	ServerUs  = "server_us" // of the server, per task
	OwnMs     = "own_ms"    // in a second
	ServerMs  = "server_ms"
	Heap      = "heap" // bytes of the program's memory, per task
	Store     = "store_bytes"
	File      = "file_bytes" // of Redis's append-only file, per task
	LogMB     = "log_mb"     // of write-ahead logs, in all
	FirstS    = "first_s"    // seconds from the start until a handler started
	LastS     = "last_s"     // and until the last one did
	Created   = "created"
	Cancelled = "cancelled" // cancels that promised that the handler would not run
	Refused   = "refused"   // cancels that did not promise that
	Broken    = "broken"    // promises that were not kept
)

// Node runs measurements. Package child serves its method.
type Node struct{}

// Run runs one measurement.
func (*Node) Run(o Order, out *record.Outcome) error {
	info, err := record.Find(contender.All, o.Contender)
	if err != nil {
		return err
	}
	ctx := context.Background()
	t := &trial{Order: o, out: out, log: newLog(o.N)}
	out.Values, out.Texts = record.Values{}, map[string]string{}
	if t.lib, err = info.Open(ctx, o.Stores, t.handle); err != nil {
		return err
	}
	if err := t.run(ctx); err != nil {
		return err
	}
	if o.Part == Plant || o.Part == Hold { // the process is killed while the library is open
		return nil
	}
	if err := t.lib.Stop(); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	return t.lib.Close()
}

type trial struct {
	Order
	lib  *contender.Running
	out  *record.Outcome
	log  *log
	hold atomic.Bool // handlers do not return before their context ends
}

func (t *trial) run(ctx context.Context) error {
	switch t.Part {
	case Create, Batch:
		return t.create(ctx)
	case Standing:
		return t.standing(ctx)
	case Handle:
		return t.backlog(ctx)
	case Late:
		return t.late(ctx)
	case Soon:
		return t.soon(ctx)
	case Idle:
		return t.idle(ctx)
	case Facts:
		return t.facts(ctx)
	case Plant:
		return t.createAll(ctx, func(int) time.Time { return millis(time.Now().Add(t.Over)) })
	case Hold:
		return t.holds(ctx)
	case Reap:
		return t.reap(ctx)
	}
	return fmt.Errorf("there is no measurement %q", t.Part)
}

// handle is the handler of all tasks.
func (t *trial) handle(ctx context.Context, task contender.Task) error {
	t.log.add(task, time.Now())
	if t.hold.Load() {
		<-ctx.Done()
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

// spent has the processor times of the program and of the server.
type spent struct{ own, server time.Duration }

func (t *trial) spent() spent { return spent{usage.CPU(), server.Processor(t.Stores.PID)} }

// costs stores the processor time since before, per task.
func (t *trial) costs(before spent, n int) {
	now := t.spent()
	micros := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(max(n, 1)) }
	t.out.Values[OwnUs], t.out.Values[ServerUs] = micros(now.own-before.own), micros(now.server-before.server)
}
