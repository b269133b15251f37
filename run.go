package foliot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// ending describes how a function of the program ended.
type ending struct {
	err      error   // the result of a handler
	text     string  // the text of err, or of the value of the panic
	wish     *result // the result that err wraps; nil if err wraps none
	ended    bool    // err reports the end of a context
	panicked bool
	stack    []byte // the stack of the panic
	exited   bool   // it called runtime.Goexit
}

// guard runs f on its own goroutine, because runtime.Goexit ends the goroutine. That
// goroutine also calls the methods of the value of a panic, because they belong to
// the program too. f can set the ending.
func guard(f func(*ending)) ending {
	ended := make(chan ending, 1)
	go func() {
		e := ending{exited: true}
		defer func() { ended <- e }()
		defer func() {
			if v := recover(); v != nil {
				e = ending{panicked: true, text: fmt.Sprintf("a value of type %T", v), stack: debug.Stack()}
				describe(v, &e.text)
			}
		}()
		f(&e)
		e.exited = false
	}()
	return <-ended
}

// describe sets text to the text of the value of a panic. If a method of the
// value panics or calls runtime.Goexit, text does not change.
func describe(v any, text *string) {
	defer func() { _ = recover() }()
	*text = fmt.Sprint(v)
}

// call runs a handler of a task inside its span, and calls the methods of its
// error.
func (n *Node) call(ctx context.Context, run Handler, c *Call, traceparent string) ending {
	return guard(func(e *ending) {
		err := errors.New("the handler panicked or called runtime.Goexit")
		if n.options.Tracer != nil {
			var end func(error)
			ctx, end = n.options.Tracer.Start(ctx, c, traceparent)
			defer func() {
				if e.wish != nil && e.wish.outcome.Verdict == task.Snooze {
					err = nil
				}
				end(err)
			}()
		}
		err = run(ctx, c)
		if e.err = err; err != nil {
			e.text = err.Error()
			errors.As(err, &e.wish)
			e.ended = endOfContext(err) || ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
		}
	})
}

// deliver is the dispatch.Deliver that runs the handler of a task, or sends its
// request.
func (n *Node) deliver(attempt context.Context, d task.Delivery) task.Outcome {
	t := d.Task
	if t.Request.Kind == "" && n.sender != nil {
		return n.sender.Deliver(attempt, d)
	}
	h, ok := n.handlers[t.Request.Kind]
	if !ok { // does not happen: the dispatcher claims no task without a handler
		return task.Outcome{Verdict: task.Unsent, Error: fmt.Sprintf("this process has no handler for the kind %q", t.Request.Kind)}
	}
	if err := d.Live(); err != nil {
		return task.Outcome{Verdict: task.Unsent, Error: err.Error()}
	}
	ctx, stop := context.WithTimeout(attempt, t.Timeout)
	defer stop()
	a := &attemptOf{Delivery: d, node: n, began: n.core.Now(), start: time.Now()}
	ctx = context.WithValue(ctx, engine.AttemptKey{}, a)
	schedule, instant := occurrenceOf(t)
	e := n.call(ctx, h.run, &Call{ // copies: a handler may change them, and the store still uses the record
		ID: t.ID, Schedule: schedule, Instant: instant, Kind: t.Request.Kind, Namespace: t.Namespace, Name: t.Name, Queue: t.Queue, Args: bytes.Clone(t.Request.Body), Attempt: d.Number, Due: t.Due.Time(), Labels: maps.Clone(t.Labels),
	}, t.Trace)
	o := n.outcome(attempt, ctx, t, e)
	if o.Verdict == task.Success && a.completes.Load() { // no effect if the transaction has committed
		o = failure("the handler returned nil, but the transaction that it passed to Complete did not commit")
	}
	return a.measured(o)
}

// occurrenceOf returns the schedule that created a task, and its instant.
func occurrenceOf(t *task.Task) (schedule string, instant time.Time) {
	schedule, at, _ := task.OccurrenceOf(t.Name)
	if at != 0 {
		instant = at.Time()
	}
	return schedule, instant
}

// attemptOf is an attempt of a handler, as an engine.Attempt.
type attemptOf struct {
	task.Delivery
	node         *Node
	began, start time.Time   // by the clock of the store, and by that of the process
	completes    atomic.Bool // Complete was called
}

func (a *attemptOf) Node() *engine.Node { return a.node.core }

// Complete implements engine.Attempt.
func (a *attemptOf) Complete(ctx context.Context) error {
	a.completes.Store(true)
	s := task.Settlement{Key: a.Task.Key(), Token: a.Task.Lease.Token, Outcome: a.measured(task.Outcome{Verdict: task.Success})}
	replies, err := a.node.core.Store.Transit(ctx, task.FloorMillis(a.node.core.Now()), store.Settlements([]task.Settlement{s}))
	if err == nil {
		err = replies[0].Err
	}
	switch {
	case err == nil:
		a.Completed(replies[0].Task)
	case errors.Is(err, task.ErrStale):
		return &Error{ofTask, a.Task.Name, ErrLeaseLost, "the attempt has lost its lease, or is complete already: roll back the transaction"}
	}
	return translate(ofTask, a.Task.Name, err)
}

// measured returns an outcome that ends now, with its times.
func (a *attemptOf) measured(o task.Outcome) task.Outcome {
	o.StartedAt, o.Late, o.Waited, o.Latency = task.FloorMillis(a.began), a.Late(a.began), a.Waited, time.Since(a.start)
	return o
}

// outcome returns the outcome of an attempt after its handler ended with e. attempt
// is the context that the dispatcher ends, and ctx the one that the handler received.
func (n *Node) outcome(attempt, ctx context.Context, t *task.Task, e ending) task.Outcome {
	stopped := attempt.Err() != nil && !errors.Is(context.Cause(attempt), dispatch.ErrCancelled)
	switch {
	case e.panicked:
		n.options.Logger.Error("a handler panicked: the attempt counts as failed", "kind", t.Request.Kind, "namespace", t.Namespace, "task", t.Name, "panic", e.text, "stack", string(e.stack))
		return failure("the handler panicked: " + e.text)
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

func failure(text string) task.Outcome {
	return task.Outcome{Verdict: task.Failure, Error: clip(text)}
}

func clip(text string) string { return task.Clip(text, task.MaxErrorKept) }
