package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/foliot/foliot/internal/task"
)

// warned is the key of the last warning on a connection.
const warned = "foliot.warned"

// Durability is the meaning of a nil error of a change.
type Durability string

// The levels.
const (
	// asyncLevel: PostgreSQL has the write, and has it on its disk within a second.
	asyncLevel Durability = "async"
	// defaultLevel: the write is on the disk, and on the standbys for which PostgreSQL
	// is configured to wait.
	defaultLevel Durability = "default"
	// strictLevel: like defaultLevel, but if PostgreSQL waits for no standby, or ends the wait,
	// the error is task.ErrNotDurable. Repeating is safe.
	strictLevel Durability = "strict"
)

// commit is how a transaction commits: the value of synchronous_commit.
type commit string

const (
	synced   commit = "on"
	unsynced commit = "off" // a crash of PostgreSQL may undo it
)

// statementEnds bounds a statement, because a stalled server would otherwise hold its
// caller for ever.
const statementEnds = 10 * time.Second

// errSilent is the error of a call that the server, or a pooler, has not answered.
var errSilent = fmt.Errorf("%w: PostgreSQL has not answered in time, so a change may have been made: repeat it", task.ErrUnavailable)

// within makes a call that must not take longer than a statement.
func within(ctx context.Context, do func(context.Context) error) error {
	ctx, stop := context.WithTimeoutCause(ctx, statementEnds, errSilent)
	defer stop()
	err := do(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}

// lockShared takes the locks of a change.
const lockShared = "SELECT count(pg_advisory_xact_lock_shared(l)) FROM unnest((SELECT $1::bigint[])) l"

// change is a transaction of one statement that changes tasks.
type change struct {
	how    commit
	hasty  bool    // it waits for no lock longer than a moment
	shared []int64 // locks that it shares with others
	sql    string
	args   []any
}

// transact makes a change in the user's transaction, or else in one of its own, in one
// round trip, and returns its rows.
func transact[T any](ctx context.Context, s *Store, scan pgx.RowToFunc[T], ch change) ([]T, error) {
	if tx := transactionOf(ctx); tx != nil {
		if len(ch.shared) > 0 {
			if _, err := run(ctx, s, tx, pgx.RowTo[int64], lockShared, ch.shared); err != nil {
				return nil, err
			}
		}
		return run(ctx, s, tx, scan, ch.sql, ch.args...)
	}
	return apart(ctx, s, s.poolOf(ch.how), func(ctx context.Context, c *pgxpool.Conn) ([]T, error) {
		return transactOn(ctx, s, c, scan, ch)
	})
}

func (s *Store) poolOf(how commit) *pgxpool.Pool {
	if how == synced {
		return s.commits
	}
	return s.pool
}

// confirming is the action of failures if commits wait for a standby.
const confirming = "confirm changes"

// apart uses a connection. If ctx ends, the use goes on, because a COMMIT must not be
// cancelled: PostgreSQL would end its wait for a standby with a commit that is not
// replicated. The context of use ends with the store, and if the server is silent for too
// long.
func apart[T any](ctx context.Context, s *Store, pool *pgxpool.Pool, use func(context.Context, *pgxpool.Conn) (T, error)) (result T, err error) {
	c, err := pool.Acquire(ctx)
	if err != nil {
		return result, err
	}
	type outcome struct {
		result T
		err    error
	}
	done := make(chan outcome, 1)
	s.working.Go(func() {
		defer c.Release() // closes the connection if a transaction is left
		ctx, end := context.WithCancel(context.WithoutCancel(ctx))
		defer end()
		defer context.AfterFunc(s.closing, end)()
		defer time.AfterFunc(s.silent, func() { // the server does not even end a statement
			for pool == s.commits && s.awaitsStandby(ctx) && ctx.Err() == nil {
				s.failures.Note(confirming, errors.New("no synchronous standby answers: changes wait until one does"))
				if !pause(ctx, s.silent) {
					break
				}
			}
			end()
		}).Stop()
		result, err := use(ctx, c)
		switch {
		case err != nil && ctx.Err() != nil:
			err = errSilent
		case err == nil && pool == s.commits:
			s.failures.Note(confirming, nil)
		}
		done <- outcome{result, err}
	})
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
		return result, ctx.Err()
	}
}

// awaitsStandby reports whether any COMMIT that this role can see waits for a standby,
// because behind a pooler the server's number of a connection is unknown.
func (s *Store) awaitsStandby(ctx context.Context) (waits bool) {
	ctx, stop := context.WithTimeout(ctx, s.silent)
	defer stop()
	err := s.pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')").Scan(&waits)
	return err == nil && waits
}

// readCommitted are the transactions of this package. The role or the database can have
// another default, with a snapshot that is older than the locks.
var readCommitted = pgx.TxOptions{IsoLevel: pgx.ReadCommitted}

// settle sets the values of a transaction for which the role or the database can have other
// ones: how it commits, how long a statement waits for a lock, and how long it may take.
// Without warnings, the end of a wait for a standby would not be seen.
const settle = `SELECT set_config('synchronous_commit', $1, true), set_config('client_min_messages', 'warning', true), set_config('lock_timeout', $2, true),
	set_config('statement_timeout', $3, true), set_config('idle_in_transaction_session_timeout', '10s', true), set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true)`

// value returns the value of synchronous_commit.
func (c commit) value(level Durability) string {
	if level == asyncLevel {
		c = unsynced
	}
	return string(c)
}

// durably makes a transaction of several statements that commits as a synced change does.
func durably[T any](ctx context.Context, s *Store, do func(context.Context, pgx.Tx) (T, error)) (T, error) {
	return apart(ctx, s, s.commits, func(ctx context.Context, c *pgxpool.Conn) (result T, err error) {
		tx, err := c.BeginTx(ctx, readCommitted)
		if err != nil {
			return result, err
		}
		defer func() { _ = tx.Rollback(ctx) }() // unless it has committed
		if _, err = tx.Exec(ctx, settle, synced.value(s.config.Durability), "1s", "0"); err == nil {
			result, err = do(ctx, tx)
		}
		if err == nil && s.config.Durability == strictLevel { // even if it changes nothing
			_, err = tx.Exec(ctx, waitAnyway)
		}
		if err != nil {
			return result, err
		}
		delete(c.Conn().PgConn().CustomData(), warned)
		if err = tx.Commit(ctx); err == nil {
			err = s.notDurable(c)
		}
		return result, err
	})
}

// waitAnyway gives a transaction that changes nothing a COMMIT that waits for a standby.
const waitAnyway = "SELECT pg_logical_emit_message(true, 'foliot', '')::text"

// notDurable returns an error at the level strict, unless the last COMMIT on a connection
// has waited for a standby.
func (s *Store) notDurable(c *pgxpool.Conn) error {
	warning, _ := c.Conn().PgConn().CustomData()[warned].(string)
	switch {
	case s.config.Durability != strictLevel:
	case warning != "":
		return fmt.Errorf("%w: PostgreSQL committed with the warning %q", task.ErrNotDurable, warning)
	case !s.waits.Load():
		return fmt.Errorf("%w: synchronous_standby_names is empty, so PostgreSQL waits for no standby", task.ErrNotDurable)
	}
	return nil
}

func transactOn[T any](ctx context.Context, s *Store, c *pgxpool.Conn, scan pgx.RowToFunc[T], ch change) (all []T, err error) {
	var b pgx.Batch
	b.Queue("BEGIN ISOLATION LEVEL READ COMMITTED")
	wait := "20ms"
	if ch.hasty {
		wait = "2ms"
	}
	b.Queue(settle, ch.how.value(s.config.Durability), wait, statementEnds.String())
	if len(ch.shared) > 0 { // by a statement of its own: the snapshot of the next one is taken after it
		b.Queue(lockShared, ch.shared)
	}
	b.Queue(ch.sql, append([]any{s.schema}, ch.args...)...)
	b.Queue("SELECT set_config('statement_timeout', '0', true)") // of the COMMIT
	b.Queue("COMMIT")
	conn := c.Conn().PgConn()
	delete(conn.CustomData(), warned)
	r := c.SendBatch(ctx, &b)
	defer func() {
		if err = errors.Join(err, r.Close()); conn.TxStatus() == 'E' { // a new connection would cost more
			_ = conn.Exec(ctx, "ROLLBACK").Close()
		}
	}()
	for range b.Len() - 3 {
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
	if _, err := r.Exec(); err != nil {
		return nil, err
	}
	tag, err := r.Exec()
	switch {
	case err != nil:
	case tag.String() != "COMMIT":
		err = fmt.Errorf("%w: PostgreSQL rolled the transaction back", task.ErrUnavailable)
	case ch.how == synced:
		err = s.notDurable(c)
	}
	return all, err
}
