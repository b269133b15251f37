package pebblestore

import (
	"context"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Apply implements store.TaskStore.
func (s *Store) Apply(ctx context.Context, now task.Millis, changes []task.Change) ([]store.Reply, error) {
	steps := make([]step, len(changes))
	for i, c := range changes {
		steps[i] = step{key: c.Target(), kind: change, transition: c}
	}
	return s.submit(ctx, &request{now: now, who: settings.ActorOf(ctx), steps: steps})
}

// Claim implements store.LeaseStore.
func (s *Store) Claim(ctx context.Context, now task.Millis, claims []task.Claim) ([]store.Reply, error) {
	steps := make([]step, len(claims))
	for i, c := range claims {
		steps[i] = step{key: c.Key, kind: claim, transition: c}
	}
	return s.submit(ctx, &request{now: now, steps: steps, urgent: true})
}

// Fire implements store.LeaseStore.
func (s *Store) Fire(ctx context.Context, now task.Millis, fires []task.Fire) ([]store.Reply, error) {
	steps := make([]step, len(fires))
	for i, f := range fires {
		steps[i] = step{key: f.Key, kind: fire, transition: f}
	}
	return s.submit(ctx, &request{now: now, steps: steps, urgent: true})
}

// Extend implements store.LeaseStore.
func (s *Store) Extend(ctx context.Context, now task.Millis, extensions []task.Extension) ([]error, error) {
	steps := make([]step, len(extensions))
	for i, e := range extensions {
		steps[i] = step{key: e.Key, kind: extension, transition: e}
	}
	replies, err := s.submit(ctx, &request{now: now, steps: steps, urgent: true})
	if err != nil {
		return nil, err
	}
	errs := make([]error, len(replies))
	for i, r := range replies {
		errs[i] = r.Err
	}
	return errs, nil
}

// Settle implements store.LeaseStore.
func (s *Store) Settle(ctx context.Context, now task.Millis, settlements []task.Settlement) ([]store.Reply, error) {
	steps := make([]step, len(settlements))
	for i, st := range settlements {
		steps[i] = step{key: st.Key, kind: settlement, transition: st}
	}
	return s.submit(ctx, &request{now: now, steps: steps, urgent: true})
}

// Reap implements store.LeaseStore. Open has reaped the leases of the previous
// process. Leases of this process are lost only if its dispatcher forgot them.
func (s *Store) Reap(ctx context.Context, now task.Millis, limit int) (int, error) {
	left, err := s.reap(ctx, now, now, reaping{}, limit)
	return len(left), err
}

// Sweep implements store.LeaseStore. It removes finished tasks first, then dead
// ones, then entries of the audit log.
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

// submit passes r to the committer and waits for the reply. If ctx ends first,
// r may or may not be applied.
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
