package client

import (
	"context"

	"github.com/foliot/foliot/client/internal/batches"
	"github.com/foliot/foliot/client/internal/conn"
)

// Result is the result of one item of a call with many: Task or Err is set.
type Result struct {
	Task *Task // as the call about one task returns it
	Err  error // as the call about one task returns it
}

// CreateMany creates any number of tasks, each one independently and with an
// Idempotency-Key of its own, as Create does. results[i] is the result of
// specs[i].
//
// It sends requests of at most 1000 tasks and 8 MiB, up to four at the same time,
// so the tasks are created in no particular order. The error is that of the
// context if it has ended. The results are complete nevertheless: each item has
// its task or its error. See MaybeApplied.
func (ts Tasks) CreateMany(ctx context.Context, specs []Spec) (results []Result, err error) {
	return many(ctx, ts.conn, specs, func(s Spec) (*conn.Call, error) { return createCall(s, nil) })
}

// PutMany puts any number of tasks, as CreateMany creates them. The names must
// differ, because the puts are made in no particular order.
func (ts Tasks) PutMany(ctx context.Context, specs []Spec) (results []Result, err error) {
	return many(ctx, ts.conn, specs, func(s Spec) (*conn.Call, error) { return putCall(s, nil) })
}

// CancelMany cancels the tasks with these names, as CreateMany creates tasks.
// Task.UnderWay and Task.Already are the rest of what Cancel returns.
func (ts Tasks) CancelMany(ctx context.Context, names []string) (results []Result, err error) {
	return many(ctx, ts.conn, names, func(name string) (*conn.Call, error) { return cancelCall(name, nil), nil })
}

// The calls that are sent before their results are awaited, so that the calls of
// other goroutines do not wait behind all.
const (
	manyAtOnce  = batches.MaxUnderWay * batches.MaxCalls
	bytesAtOnce = batches.MaxUnderWay * batches.MaxBytes
)

// many makes one call about each item.
func many[T any](ctx context.Context, cn *connection, items []T, callOf func(T) (*conn.Call, error)) (results []Result, err error) {
	results = make([]Result, len(items))
	for i := 0; i < len(items); {
		var calls []*pending
		var of []*Result // the calls
		for bytes := 0; i < len(items) && len(calls) < manyAtOnce && bytes < bytesAtOnce; i++ {
			c, err := callOf(items[i])
			if err == nil {
				err = valid(c)
			}
			switch {
			case err != nil:
				results[i].Err = err
			case ctx.Err() != nil:
				results[i].Err = &TransportError{Op: c.Op, Server: cn.base, Err: context.Cause(ctx)}
			default:
				results[i].Task = new(Task)
				c.Into = results[i].Task
				calls, of = append(calls, newPending(c)), append(of, &results[i])
				bytes += size(c)
			}
		}
		if len(calls) > 0 {
			cn.repeat(ctx, calls, cn.calls.send)
		}
		for i, p := range calls {
			if p.err != nil {
				*of[i] = Result{Err: p.err}
			}
		}
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return results, err
}
