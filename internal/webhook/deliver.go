package webhook

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Deliver makes one attempt, and returns when the reply has been read, the
// task's timeout has passed, or ctx has ended, whichever comes first.
//
// d.Live is called when the connection is ready, right before the request is
// written. If it returns an error, nothing is sent and the attempt is Unsent.
//
// When ctx ends, the attempt ends: Unsent if nothing was written, otherwise
// Interrupted. A reply that arrived earlier is judged by its status, even if
// the rest of its body did not come.
func (s *Sender) Deliver(ctx context.Context, d task.Delivery) task.Outcome {
	began, wall := time.Now(), s.cfg.Now()
	trace, end := "", func(task.Outcome) {}
	if s.cfg.Trace != nil {
		ctx, trace, end = s.cfg.Trace(ctx, d)
	}
	if trace == "" {
		trace = parentOf(d)
	}
	x := exchange{Delivery: d, ctx: ctx, deadline: began.Add(d.Task.Timeout), trace: trace}
	o := s.run(&x)
	o.Late, o.Waited = d.Late(wall), d.Waited
	if !x.sent.IsZero() {
		connected := x.sent.Sub(began)
		began, wall, o.Waited = x.sent, wall.Add(connected), o.Waited+connected
	}
	o.StartedAt = task.FloorMillis(wall)
	o.Latency = time.Since(began)
	end(o)
	return o
}
