package pebblestore

import (
	"context"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/task"
)

// Transit implements store.Steps, and puts the calls of dispatch before those of
// clients.
func (s *Store) Transit(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	return s.submit(ctx, &request{now: now, who: settings.ActorOf(ctx), steps: steps, urgent: store.ByDispatch(steps)})
}

// Reap implements store.Reaper, for tests of the contract. Open has reaped the leases
// of the previous process, and leases of this process are lost only if its dispatcher
// forgot them.
func (s *Store) Reap(ctx context.Context, now task.Millis, limit int) (int, error) {
	left, err := s.reap(ctx, now, now, kernel.Reap{}, limit)
	return len(left), err
}

// Sweep implements store.DispatchStore, and removes tasks first, then entries of the
// audit log.
func (s *Store) Sweep(ctx context.Context, now task.Millis, limit int) (int, error) {
	swept := 0
	for swept < limit {
		r := &request{now: now, sweep: min(limit-swept, maxBatchSteps)}
		if _, err := s.submit(ctx, r); err != nil {
			return swept, err
		}
		swept += r.swept
		if r.swept < r.sweep {
			break
		}
	}
	return swept, nil
}

// submit passes r to the committer and waits for the reply, but if ctx ends first, r
// may or may not be applied.
func (s *Store) submit(ctx context.Context, r *request) ([]store.Reply, error) {
	r.ctx, r.done = ctx, make(chan struct{})
	if err := s.queue.push(r); err != nil {
		return nil, err
	}
	select {
	case <-r.done:
		return r.replies, r.err
	case <-s.failed:
		return nil, s.stopped()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
