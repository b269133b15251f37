package pgstore

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/sqltask"
	"github.com/foliot/foliot/internal/task"
)

// unapplied has the tasks with pending operations in the shards of this process.
type unapplied struct {
	mu   sync.Mutex // guards keys
	keys map[string]bool
	news chan struct{}
}

func (u *unapplied) add(keys ...string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, k := range keys {
		u.keys[k] = true
	}
	select {
	case u.news <- struct{}{}:
	default:
	}
}

// take removes some tasks, and returns steps that write their operations.
func (u *unapplied) take() (steps []store.Step) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for text := range u.keys {
		if len(steps) == maxRows {
			break
		}
		delete(u.keys, text)
		if k, err := sqltask.ParseKey(text); err == nil {
			steps = append(steps, store.Step{Key: k, Transition: &sqltask.Applying{}, Kind: store.Settlement})
		}
	}
	return steps
}

// applyAll writes pending operations, until ctx ends. Those of a record that another
// transaction has locked are tried again.
func (s *Store) applyAll(ctx context.Context) {
	for ctx.Err() == nil {
		steps := s.unapplied.take()
		if len(steps) == 0 {
			select {
			case <-s.unapplied.news:
			case <-ctx.Done():
			}
			continue
		}
		err := within(ctx, func(ctx context.Context) error { return s.applySome(ctx, steps) })
		if ctx.Err() == nil {
			s.failures.Note("apply operations of SQL functions", err)
		}
		if err != nil {
			pause(ctx, pollBusy)
		}
	}
}

// applySome makes steps of take, and adds the tasks again for which that fails.
func (s *Store) applySome(ctx context.Context, steps []store.Step) error {
	replies, err := s.transit(ctx, s.now(), steps)
	if err != nil {
		replies = slices.Repeat([]store.Reply{{Err: err}}, len(steps))
	}
	for i, r := range replies {
		if r.Err != nil && !errors.Is(r.Err, task.ErrStale) {
			s.unapplied.add(sqltask.Key(steps[i].Key))
			err = r.Err
		}
	}
	return err
}

// surveyPending finds the tasks with pending operations in shards.
func (s *Store) surveyPending(ctx context.Context, shards []int16) error {
	keys, err := query(ctx, s, pgx.RowTo[string], "SELECT key FROM foliot.task WHERE shard = ANY($1) AND pending IS NOT NULL", shards)
	s.unapplied.add(keys...)
	return err
}
