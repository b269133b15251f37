package metrics

import (
	"context"

	"github.com/foliot/foliot/internal/task"
)

// watched is a queue that counts swept records and reclaimed leases.
type watched struct {
	task.Queue
	metrics *Metrics
}

// Watch returns q with counters for swept records and reclaimed leases.
func (m *Metrics) Watch(q task.Queue) task.Queue { return watched{Queue: q, metrics: m} }

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
