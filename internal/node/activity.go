package node

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/activity"
	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// watchOverdue records the number of overdue tasks once in each step of the
// history, until ctx ends.
func (n *Node) watchOverdue(ctx context.Context) {
	tick := time.NewTicker(activity.Step)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		waiting := map[string]int{}
		for _, q := range n.dispatch.Queues() {
			waiting[q.Namespace] += q.Overdue
		}
		n.activity.Overdue(task.FloorMillis(n.clock()), waiting)
	}
}

// history returns the figures of a namespace, or of all.
func (n *Node) history(namespace string, from task.Millis) wire.History {
	steps, since := n.activity.History(task.FloorMillis(n.clock()), namespace, from)
	h := wire.History{
		Step: activity.Step.String(), Since: wire.FormatTime(since.Time()), LateBoundsMS: activity.LateBounds[:], Steps: make([]wire.HistoryStep, len(steps)),
	}
	for i, f := range steps {
		h.Steps[i] = wire.HistoryStep{
			At: wire.FormatTime(f.At.Time()), Late: f.Late[:], Delivered: f.Delivered, Failed: f.Failed, Deferred: f.Deferred, Refused: f.Refused,
			Interrupted: f.Interrupted, LostLeases: f.LostLeases, Dead: f.Dead, Overdue: f.Overdue,
		}
	}
	return h
}

// attempts returns recent attempts.
func (n *Node) attempts(f api.AttemptFilter) wire.AttemptList {
	kept, since := n.activity.Recent(activity.Filter{Namespace: f.Namespace, Queue: f.Queue, Outcomes: f.Outcomes, Since: f.Since, Limit: f.Limit})
	list := wire.AttemptList{Attempts: make([]wire.EndedAttempt, len(kept)), Since: wire.FormatTime(since.Time())}
	for i, a := range kept {
		list.Attempts[i] = wire.EndedAttempt{
			At: wire.FormatTime(a.EndedAt.Time()), Namespace: a.Namespace, Queue: a.Queue, Task: a.Name, Number: a.Number, Destination: a.Destination,
			Outcome: a.Outcome, Status: a.Status, Error: a.Error, LateMS: msOf(a.Late), LatencyMS: msOf(a.Latency), Dead: a.Died, Reason: a.Reason,
		}
		if f.Operator && a.Detail != "" {
			list.Attempts[i].Error += " (" + a.Detail + ")"
		}
	}
	return list
}
