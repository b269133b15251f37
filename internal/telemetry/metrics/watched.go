package metrics

import (
	"context"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// watched is a queue that counts swept records and reclaimed leases.
type watched struct {
	store.LeaseStore
	metrics *Metrics
}

// Watch returns q with counters for swept records and reclaimed leases.
func (m *Metrics) Watch(q store.LeaseStore) store.LeaseStore {
	return watched{LeaseStore: q, metrics: m}
}

// Sweep sweeps, and counts.
func (w watched) Sweep(ctx context.Context, now task.Millis, limit int) (int, error) {
	n, err := w.LeaseStore.Sweep(ctx, now, limit)
	w.metrics.Swept(n)
	return n, err
}

// Reap reaps, and counts.
func (w watched) Reap(ctx context.Context, now task.Millis, limit int) (int, error) {
	n, err := w.LeaseStore.Reap(ctx, now, limit)
	w.metrics.Reclaimed(n)
	return n, err
}
