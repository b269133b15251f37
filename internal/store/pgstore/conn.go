package pgstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/foliot/foliot/internal/task"
)

// The classes and codes of SQLSTATE that a call tells apart.
const (
	uniqueViolation = "23505"
	lockTimeout     = "55P03"
	deadlock        = "40P01"
	serialization   = "40001"
	diskFull        = "53100"
	undefinedTable  = "42P01"
)

// code returns the SQLSTATE of an error, "" if it has none.
func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// failure translates the error of a whole call for its caller, and nil stays nil.
func (s *Store) failure(err error) error {
	switch state := code(err); {
	case err == nil, errors.Is(err, task.ErrClosed), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case state == diskFull:
		return fmt.Errorf("%w: PostgreSQL has no room left: %w", task.ErrFull, err)
	case state == "" && !pgconn.SafeToRetry(err), len(state) == 5 && (state[:2] == "08" || state[:2] == "53" || state[:2] == "57" || state == "25006"):
		return fmt.Errorf("%w: PostgreSQL: %w", task.ErrUnavailable, err)
	}
	return err
}

// query returns the rows of a statement.
func query[T any](ctx context.Context, s *Store, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

// commit is how a transaction commits.
type commit string

const (
	synced   commit = "on"  // its reply waits for the disk and for synchronous standbys
	unsynced commit = "off" // a crash of PostgreSQL may undo it
)

// transact runs one statement in a transaction of its own, in one round trip, and
// returns its rows. The transaction first takes shared locks.
func transact[T any](ctx context.Context, s *Store, how commit, shared []int64, scan pgx.RowToFunc[T], sql string, args ...any) (all []T, err error) {
	var b pgx.Batch
	b.Queue("BEGIN")
	b.Queue("SELECT set_config('synchronous_commit', $1, true), set_config('lock_timeout', $2, true)", string(how), "1s")
	if len(shared) > 0 { // by a statement of its own: the snapshot of the next one is taken after it
		b.Queue("SELECT pg_advisory_xact_lock_shared(l) FROM unnest($1::bigint[]) l", shared)
	}
	b.Queue(sql, args...)
	b.Queue("COMMIT")
	c, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Release() // also ends the transaction of an error, because the pool closes its connection
	r := c.SendBatch(ctx, &b)
	defer func() { err = errors.Join(err, r.Close()) }()
	for range b.Len() - 2 {
		if _, err := r.Exec(); err != nil {
			return nil, err
		}
	}
	rows, err := r.Query()
	if err != nil {
		return nil, err
	}
	if all, err = pgx.CollectRows(rows, scan); err != nil {
		return nil, err
	}
	tag, err := r.Exec()
	if err == nil && tag.String() != "COMMIT" {
		err = fmt.Errorf("%w: PostgreSQL rolled the transaction back", task.ErrUnavailable)
	}
	return all, err
}

// failures logs failures of actions that are tried again and again: the first, then
// one line a minute, and the end.
type failures struct {
	logger *slog.Logger
	mu     sync.Mutex // guards logged
	logged map[string]time.Time
}

// note notes the result of an action.
func (s *Store) note(action string, err error, args ...any) {
	f := &s.failures
	f.mu.Lock()
	defer f.mu.Unlock()
	last, failed := f.logged[action]
	switch {
	case err == nil && failed:
		delete(f.logged, action)
		f.logger.Info("can " + action + " again")
	case err != nil && time.Since(last) >= time.Minute:
		if f.logged == nil {
			f.logged = map[string]time.Time{}
		}
		f.logged[action] = time.Now()
		f.logger.Warn("could not "+action, append(args, "error", err)...)
	}
}
