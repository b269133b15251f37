package pgstore

import (
	"context"

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

// retire makes a step of overdue tasks, at most limit, and returns how many it
// changed.
func (s *Store) retire(ctx context.Context, now task.Millis, limit int, how store.Step, sql string) (int, error) {
	keys, err := query(ctx, s, func(row pgx.CollectableRow) (k task.Key, err error) {
		var text string
		if err = row.Scan(&text); err == nil {
			k, err = parseKey(text)
		}
		return k, err
	}, sql, s.numbers(), int64(now), limit)
	if err != nil || len(keys) == 0 {
		return 0, err
	}
	left, err := kernel.Retire(keys, how, func(steps []store.Step) ([]store.Reply, error) { return s.transit(ctx, now, steps) }, s.note)
	if how.Kind == store.Reaping && len(left) > 0 && s.config.OnReap != nil {
		s.config.OnReap(left)
	}
	return len(left), err
}
