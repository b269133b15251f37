package pgstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/sqltask"
	"github.com/foliot/foliot/internal/task"
)

// retryLocked is the time between two tries of records that another transaction has locked.
const retryLocked = 50 * time.Millisecond

// applyAll writes pending operations, until ctx ends. Those of a record that another
// transaction has locked are tried again, and hold up no others.
func (s *Store) applyAll(ctx context.Context) {
	for ctx.Err() == nil {
		keys, omitted := s.unapplied.Take()
		if len(keys) == 0 && !omitted {
			select {
			case <-s.unapplied.News:
			case <-ctx.Done():
			}
			continue
		}
		err := within(ctx, func(ctx context.Context) error {
			if omitted {
				return s.surveyPending(ctx, s.numbers())
			}
			return s.applySome(ctx, keys, store.Settlement)
		})
		if ctx.Err() == nil {
			s.failures.Note("apply operations of SQL functions", err)
		}
		switch {
		case err == nil:
		case errors.As(err, new(*task.LockedError)):
			select {
			case <-s.unapplied.News:
			case <-time.After(retryLocked):
			case <-ctx.Done():
			}
		default:
			pause(ctx, pollBusy)
		}
	}
}

// applySome writes the operations of tasks by steps of a kind, and adds the tasks again for
// which that fails.
func (s *Store) applySome(ctx context.Context, keys []task.Key, kind store.Kind) error {
	steps := make([]store.Step, len(keys))
	for i, k := range keys {
		steps[i] = store.Step{Key: k, Transition: &sqltask.Applying{}, Kind: kind}
	}
	replies, err := s.transit(ctx, s.now(), steps)
	var forbidden *error
	if code(err) == notAllowed {
		forbidden = new(err)
	}
	s.forbidden.Store(forbidden)
	if err != nil {
		replies = slices.Repeat([]store.Reply{{Err: err}}, len(steps))
	}
	for i, r := range replies {
		if r.Err != nil && !errors.Is(r.Err, task.ErrStale) {
			s.unapplied.Defer(sqltask.Key(keys[i]))
			err = r.Err
		}
	}
	return err
}

// Settle writes all pending operations, even if a migration has closed the store. Before
// that it waits for the open transactions that have changed tasks.
func (s *Store) Settle(ctx context.Context) error {
	_, err := store.Call(ctx, &s.calls, func() (none struct{}, err error) {
		_, err = durably(ctx, s, func(ctx context.Context, tx pgx.Tx) (none struct{}, err error) {
			if _, err = tx.Exec(ctx, waitForLocks); err == nil {
				_, err = tx.Exec(ctx, "LOCK TABLE foliot.task IN SHARE MODE", s.schema)
			}
			return none, err
		})
		for err == nil {
			var keys []string
			if keys, err = s.pendingIn(ctx, nil, sqltask.MaxRows); len(keys) == 0 {
				break
			}
			page := sqltask.NewUnapplied()
			page.Add(keys...)
			parsed, _ := page.Take()
			err = s.applySome(ctx, parsed, store.Adoption)
		}
		return none, err
	})
	return err
}

// surveyPending finds tasks with pending operations in shards, and notes if there are more.
func (s *Store) surveyPending(ctx context.Context, shards []int16) error {
	keys, err := s.pendingIn(ctx, shards, 2*sqltask.MaxUnapplied+1) // half of them can be known
	if err != nil {
		s.unapplied.Omit()
	}
	s.unapplied.Defer(keys...)
	s.unapplied.Wake()
	return err
}

// pendingIn returns at most limit tasks with pending operations in shards, nil for all. By
// the order, the planner takes the small index even if it has no statistics.
func (s *Store) pendingIn(ctx context.Context, shards []int16, limit int) ([]string, error) {
	return query(ctx, s, pgx.RowTo[string], "SELECT key FROM foliot.task WHERE ($1::smallint[] IS NULL OR shard = ANY($1)) AND pending IS NOT NULL ORDER BY shard LIMIT $2", shards, limit)
}
