package pgstore

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/sqltask"
	"github.com/foliot/foliot/internal/task"
)

// applyAll writes pending operations, until ctx ends. Those of a record that another
// transaction has locked are tried again.
func (s *Store) applyAll(ctx context.Context) {
	for ctx.Err() == nil {
		keys := s.unapplied.Take()
		if len(keys) == 0 {
			select {
			case <-s.unapplied.News:
			case <-ctx.Done():
			}
			continue
		}
		err := within(ctx, func(ctx context.Context) error { return s.applySome(ctx, keys) })
		if ctx.Err() == nil {
			s.failures.Note("apply operations of SQL functions", err)
		}
		if err != nil {
			pause(ctx, pollBusy)
		}
	}
}

// applySome writes the operations of tasks, and adds the tasks again for which that fails.
func (s *Store) applySome(ctx context.Context, keys []task.Key) error {
	steps := make([]store.Step, len(keys))
	for i, k := range keys {
		steps[i] = store.Step{Key: k, Transition: &sqltask.Applying{}, Kind: store.Settlement}
	}
	replies, err := s.transit(ctx, s.now(), steps)
	if err != nil {
		replies = slices.Repeat([]store.Reply{{Err: err}}, len(steps))
	}
	for i, r := range replies {
		if r.Err != nil && !errors.Is(r.Err, task.ErrStale) {
			s.unapplied.Add(sqltask.Key(keys[i]))
			err = r.Err
		}
	}
	return err
}

// surveyPending finds the tasks with pending operations in shards.
func (s *Store) surveyPending(ctx context.Context, shards []int16) error {
	keys, err := query(ctx, s, pgx.RowTo[string], "SELECT key FROM foliot.task WHERE shard = ANY($1) AND pending IS NOT NULL", shards)
	s.unapplied.Add(keys...)
	return err
}
