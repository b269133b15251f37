package webhook

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// errTimeout is the cause of an attempt's context that ended by the task's
// timeout.
var errTimeout = errors.New("the attempt timed out")

// Deliver makes one attempt. It returns when the reply has been read, the
// task's timeout has passed, or ctx has ended, whichever comes first.
//
// d.Live is called when the connection is ready, and again in the call that
// begins to write the request, on another goroutine. If it returns an error,
// nothing is sent and the attempt is Unsent.
//
// When ctx ends, the attempt ends: Unsent if nothing was written, otherwise
// Interrupted. A reply that arrived earlier is judged by its status, even if
// the rest of its body did not come.
func (s *Sender) Deliver(ctx context.Context, d task.Delivery) task.Outcome {
	began, wall := time.Now(), s.now()
	trace, end := "", func(task.Outcome) {}
	if s.tracer != nil {
		ctx, trace, end = s.tracer(ctx, d)
	}
	if trace == "" {
		trace = parentOf(d)
	}
	// One context and a timer are used instead of two contexts: after the
	// system calls, contexts are the largest cost of an attempt.
	attempt, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	defer time.AfterFunc(timeoutOf(d.Task), func() { giveUp(errTimeout) }).Stop()

	g := newSendGuard(attempt, giveUp, s.dialer.guard, d.Live)
	o := s.send(g, d, began, trace)
	if !g.passed.IsZero() {
		began, wall = g.passed, wall.Add(g.passed.Sub(began))
	}
	o.StartedAt = task.FloorMillis(wall)
	o.Late = wall.Sub(d.Task.Due.Time())
	o.Latency = time.Since(began)
	end(o)
	return o
}

// send is Deliver without the times.
func (s *Sender) send(g *sendGuard, d task.Delivery, now time.Time, trace string) task.Outcome {
	request, err := s.newRequest(g, d, now, trace)
	if err != nil {
		return task.Outcome{Verdict: task.Failure, Error: err.Error()}
	}
	// RoundTrip is used instead of an http.Client, so that no redirect is
	// followed, no cookie is kept, and no header is added.
	reply, err := s.transport.RoundTrip(request)
	if err != nil {
		return failed(g, err, d.Task)
	}
	defer reply.Body.Close()

	o := judge(reply, now)
	o.Status = reply.StatusCode
	if reply.StatusCode != http.StatusSwitchingProtocols { // the "body" of this reply is the raw connection
		o.Reply = readReply(reply.Body, reply.ContentLength)
	}
	return o
}

func timeoutOf(t *task.Task) time.Duration {
	if t.Timeout > 0 {
		return t.Timeout
	}
	return task.DefaultTimeout
}
