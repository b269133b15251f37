package pgstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/task"
)

// Reap implements store.Reaper for the shards that this node owns.
func (s *Store) Reap(ctx context.Context, now task.Millis, limit int) (int, error) {
	return call(ctx, s, func() (int, error) {
		return s.retire(ctx, now, limit, store.Step{Transition: kernel.Reap{}, Kind: store.Reaping},
			"SELECT key FROM lease WHERE shard = ANY($1) AND until <= $2 ORDER BY until, key LIMIT $3")
	})
}

// Sweep implements store.DispatchStore for the shards that this node owns.
func (s *Store) Sweep(ctx context.Context, now task.Millis, limit int) (int, error) {
	return call(ctx, s, func() (int, error) {
		n, err := s.retire(ctx, now, limit, store.Step{Transition: kernel.Remove{}, Kind: store.Removal},
			"SELECT key FROM task WHERE shard = ANY($1) AND keep <= $2 ORDER BY keep, key LIMIT $3")
		if err != nil || n == limit {
			return n, err
		}
		trimmed, err := s.sweepLog(ctx, now, limit-n)
		return n + trimmed, err
	})
}

// retire makes a step of tasks whose time has come, at most limit, and returns how
// many it changed.
func (s *Store) retire(ctx context.Context, now task.Millis, limit int, how store.Step, sql string) (n int, err error) {
	keys, err := query(ctx, s, pgx.RowTo[string], sql, s.numbers(), int64(now), limit)
	if err != nil || len(keys) == 0 {
		return 0, err
	}
	steps := make([]store.Step, len(keys))
	for i, k := range keys {
		steps[i] = how
		if steps[i].Key, err = parseKey(k); err != nil {
			return 0, err
		}
	}
	replies, err := s.transit(ctx, now, steps)
	var left []*task.Task
	for i, r := range replies {
		switch {
		case r.Err == nil && r.Effect != 0:
			n++
			left = append(left, r.Task)
		case r.Err != nil && !errors.Is(r.Err, task.ErrStale) && !errors.Is(r.Err, task.ErrLaneChanged):
			s.config.Logger.Error("a task could not be taken back or removed", "task", steps[i].Key.Name, "namespace", steps[i].Key.Namespace, "error", r.Err)
		}
	}
	if how.Kind == store.Reaping && n > 0 && s.config.OnReap != nil {
		s.config.OnReap(left)
	}
	return n, err
}
