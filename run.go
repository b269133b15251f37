package foliot

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/task"
)

// ending is how a handler has ended.
type ending struct {
	err      error
	text     string  // of err
	wish     *result // in err; nil: none
	ended    bool    // err is about the end of a context
	panicked any     // nil: it did not panic
	stack    []byte  // of the panic
	exited   bool    // it called runtime.Goexit
}

// call runs a handler on a goroutine of its own, because runtime.Goexit ends
// the goroutine. The methods of its error are the program's too: they can panic.
func call(ctx context.Context, run Handler, c *Call) ending {
	ended := make(chan ending, 1)
	go func() {
		e := ending{exited: true}
		defer func() {
			if v := recover(); v != nil {
				e = ending{panicked: v, stack: debug.Stack()}
			}
			ended <- e
		}()
		err := run(ctx, c)
		e = ending{err: err}
		if err != nil {
			e.text = err.Error()
			errors.As(err, &e.wish)
			e.ended = errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
		}
	}()
	return <-ended
}

// deliver runs the handler of a task. It is a dispatch.Deliver.
func (n *Node) deliver(attempt context.Context, d task.Delivery) task.Outcome {
	t := d.Task
	h, ok := n.handlers[t.Request.Kind]
	if !ok { // the dispatcher claims no such task
		return task.Outcome{Verdict: task.Unsent, Error: fmt.Sprintf("this process has no handler for the kind %q", t.Request.Kind)}
	}
	if err := d.Live(); err != nil {
		return task.Outcome{Verdict: task.Unsent, Error: err.Error()}
	}
	ctx, stop := context.WithTimeout(attempt, t.Timeout)
	defer stop()
	began := n.core.Now()
	start := time.Now()
	e := call(ctx, h.run, &Call{
		Kind: t.Request.Kind, Name: t.Name, Queue: t.Queue, Args: t.Request.Body, Attempt: d.Number, Due: t.Due.Time(), Labels: t.Labels,
	})
	o := n.outcome(attempt, ctx, t, e)
	o.StartedAt, o.Late, o.Latency = task.FloorMillis(began), began.Sub(t.Due.Time()), time.Since(start)
	return o
}

// outcome translates the end of a handler. attempt is the context that the
// dispatcher ends, and ctx the one that the handler had.
func (n *Node) outcome(attempt, ctx context.Context, t *task.Task, e ending) task.Outcome {
	stopped := attempt.Err() != nil && !errors.Is(context.Cause(attempt), dispatch.ErrCancelled)
	switch {
	case e.panicked != nil:
		text := describe(e.panicked)
		n.options.Logger.Error("a handler panicked: the attempt counts as failed", "kind", t.Request.Kind, "task", t.Name, "panic", text, "stack", string(e.stack))
		return failure("the handler panicked: " + text)
	case e.exited:
		return failure("the handler called runtime.Goexit")
	case e.err == nil:
		return task.Outcome{Verdict: task.Success}
	case stopped && (e.ended || e.wish == nil): // the error is about the stop, also if Dead wraps it
		return task.Outcome{Verdict: task.Interrupted, Error: clip(context.Cause(attempt).Error() + ": " + e.text)}
	case e.wish != nil:
		o := e.wish.outcome
		o.Error = clip(e.text)
		return o
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return failure(fmt.Sprintf("timed out after %v: %s", t.Timeout, e.text))
	}
	return failure(e.text)
}

// describe returns the text of a panic's value, the methods of which can panic.
func describe(v any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("a value of type %T", v)
		}
	}()
	return fmt.Sprint(v)
}

func failure(text string) task.Outcome {
	return task.Outcome{Verdict: task.Failure, Error: clip(text)}
}

func clip(text string) string { return task.Clip(text, task.MaxErrorKept) }
