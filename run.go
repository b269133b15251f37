package foliot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"time"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/task"
)

// ending describes how a handler ended.
type ending struct {
	err      error
	text     string  // the text of err
	wish     *result // the result that err wraps; nil if err wraps none
	ended    bool    // err reports the end of a context
	panicked any     // the value of the panic; nil: the handler did not panic
	stack    []byte  // the stack of the panic
	exited   bool    // the handler called runtime.Goexit
}

// call runs a handler on its own goroutine, because runtime.Goexit ends the
// goroutine. The goroutine also calls the methods of the handler's error: they
// belong to the program, and can panic too.
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
			e.ended = endOfContext(err) || ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
		}
	}()
	return <-ended
}

// deliver runs the handler of a task. It is a dispatch.Deliver.
func (n *Node) deliver(attempt context.Context, d task.Delivery) task.Outcome {
	t := d.Task
	h, ok := n.handlers[t.Request.Kind]
	if !ok { // does not happen: the dispatcher claims no task without a handler
		return task.Outcome{Verdict: task.Unsent, Error: fmt.Sprintf("this process has no handler for the kind %q", t.Request.Kind)}
	}
	if err := d.Live(); err != nil {
		return task.Outcome{Verdict: task.Unsent, Error: err.Error()}
	}
	ctx, stop := context.WithTimeout(attempt, t.Timeout)
	defer stop()
	began := n.core.Now()
	start := time.Now()
	e := call(ctx, h.run, &Call{ // a handler may change what it receives, and the store still uses the record
		Kind: t.Request.Kind, Name: t.Name, Queue: t.Queue, Args: bytes.Clone(t.Request.Body), Attempt: d.Number, Due: t.Due.Time(), Labels: maps.Clone(t.Labels),
	})
	o := n.outcome(attempt, ctx, t, e)
	o.StartedAt, o.Late, o.Latency = task.FloorMillis(began), began.Sub(t.Due.Time()), time.Since(start)
	return o
}

// outcome returns the outcome of an attempt whose handler ended with e. attempt
// is the context that the dispatcher ends. ctx is the context that the handler
// received.
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
	case stopped && (e.ended || e.wish == nil): // the error reports the stop, even if Dead wraps it
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

// describe returns the text of the value of a panic. If a method of the value
// panics too, the text is the type of the value.
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
