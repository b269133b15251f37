package node

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/activity"
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
		n.Attempts.Overdue(task.FloorMillis(n.Now()), waiting)
	}
}

// History returns the figures of a namespace since from. An empty namespace
// stands for all namespaces.
func (n *Node) History(namespace string, from task.Millis) wire.History {
	steps, since := n.Attempts.History(task.FloorMillis(n.Now()), namespace, from)
	h := wire.History{
		Step: activity.Step.String(), Since: wire.FormatTime(since.Time()), LateBoundsMS: activity.LateBounds[:], Steps: make([]wire.HistoryStep, len(steps)),
	}
	for i, f := range steps {
		h.Steps[i] = wire.HistoryStep{
			At: wire.FormatTime(f.At.Time()), Late: f.Late[:], Waited: f.Waited[:], Delivered: f.Delivered, Failed: f.Failed, Deferred: f.Deferred, Refused: f.Refused,
			Interrupted: f.Interrupted, LostLeases: f.LostLeases, Dead: f.Dead, Overdue: f.Overdue,
		}
	}
	return h
}

// RecentAttempts returns recent attempts that match f. If detailed is set,
// their errors can contain addresses of the internal network.
func (n *Node) RecentAttempts(f activity.Filter, detailed bool) wire.AttemptList {
	kept, since := n.Attempts.Recent(f)
	list := wire.AttemptList{Attempts: make([]wire.EndedAttempt, len(kept)), Since: wire.FormatTime(since.Time())}
	for i, a := range kept {
		list.Attempts[i] = wire.EndedAttempt{
			At: wire.FormatTime(a.EndedAt.Time()), Namespace: a.Namespace, Queue: a.Queue, Task: a.Name, Number: a.Number, Destination: a.Destination,
			Outcome: a.Outcome, Status: a.Status, Error: a.Error, LateMS: msOf(a.Late), WaitedMS: msOf(a.Waited), LatencyMS: msOf(a.Latency), Dead: a.Died, Reason: a.Reason,
		}
		if detailed && a.Detail != "" {
			list.Attempts[i].Error += " (" + a.Detail + ")"
		}
	}
	return list
}
