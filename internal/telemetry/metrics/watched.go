package metrics

import (
	"context"

	"github.com/foliot/foliot/internal/task"
)

// watched is a queue whose settlements and upkeep are counted.
type watched struct {
	task.Queue
	metrics *Metrics
}

// Watch returns q, and counts what is settled, swept and taken back by it.
func (m *Metrics) Watch(q task.Queue) task.Queue { return watched{Queue: q, metrics: m} }

// Settle settles, and counts what has become durable. Where the lease was lost
// nobody knows the queue: that is counted under its namespace's others.
func (w watched) Settle(ctx context.Context, now task.Millis, settlements []task.Settlement) ([]task.Reply, error) {
	replies, err := w.Queue.Settle(ctx, now, settlements)
	if err != nil {
		return replies, err // it is repeated until it is answered
	}
	for i, r := range replies {
		if r.Err != nil {
			w.metrics.Attempt(settlements[i].Key.Namespace, other, settlements[i].Outcome, nil)
			continue
		}
		w.metrics.Attempt(r.Task.Namespace, r.Task.Queue, settlements[i].Outcome, r.Task)
	}
	return replies, nil
}

// Sweep sweeps, and counts.
func (w watched) Sweep(ctx context.Context, now task.Millis, limit int) (int, error) {
	n, err := w.Queue.Sweep(ctx, now, limit)
	w.metrics.Swept(n)
	return n, err
}

// Reap reaps, and counts.
func (w watched) Reap(ctx context.Context, now task.Millis, limit int) (int, error) {
	n, err := w.Queue.Reap(ctx, now, limit)
	w.metrics.Reclaimed(n)
	return n, err
}
