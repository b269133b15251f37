package pgstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/foliot/foliot/internal/store/sqltask"
	"github.com/foliot/foliot/internal/task"
)

// The codes of SQLSTATE that calls treat in different ways.
const (
	uniqueViolation = "23505"
	lockTimeout     = "55P03"
	deadlock        = "40P01"
	serialization   = "40001"
	diskFull        = "53100"
	undefinedTable  = "42P01"
	readOnly        = "25006"
	stoodStill      = "25P03" // a transaction, on the side of the client
	starting        = "57P03"
)

// code returns the SQLSTATE of an error, "" if it has none.
func code(err error) string {
	if e, ok := errors.AsType[interface { // of every driver
		error
		SQLState() string
	}](err); ok {
		return e.SQLState()
	}
	return ""
}

// failure translates the error of a whole call for its caller, and nil stays nil.
func (s *Store) failure(err error) error {
	switch state := code(err); {
	case err == nil, !unconnected(err) && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		return err
	case state == diskFull:
		return fmt.Errorf("%w: PostgreSQL has no room left: %w", task.ErrFull, err)
	case state == lockTimeout:
		return &task.LockedError{}
	case away(err), state != "" && (strings.Contains("08 53 57", state[:2]) || state == readOnly || state == stoodStill):
		return fmt.Errorf("%w: PostgreSQL: %w", task.ErrUnavailable, err)
	}
	return err
}

// away reports whether err means that the server cannot be reached, or that the
// connection broke.
func away(err error) bool {
	var network net.Error
	return errors.As(err, &network) || unconnected(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err)
}

// unconnected reports whether no connection was made, perhaps within a time limit of its own.
func unconnected(err error) bool {
	_, is := errors.AsType[*pgconn.ConnectError](err)
	return is
}

// query returns the rows of a statement.
func query[T any](ctx context.Context, s *Store, scan pgx.RowToFunc[T], sql string, args ...any) (all []T, err error) {
	if tx := transactionOf(ctx); tx != nil {
		return run(ctx, s, tx, scan, sql, args...)
	}
	err = within(ctx, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, sql, append([]any{s.schema}, args...)...)
		if err == nil {
			all, err = pgx.CollectRows(rows, scan)
		}
		return err
	})
	return all, err
}

// Conn is a connection to a store, which may have no tables yet.
type Conn struct {
	*pgx.Conn
	Schema string // of the tables, quoted if necessary

	// Pooled reports that a pooler, such as PgBouncer, is between it and the server. Then
	// its transactions can run on different connections of the server.
	Pooled bool
}

// Connect connects to the store that a URL names, and checks the server.
func Connect(ctx context.Context, url string) (c Conn, err error) {
	settings, path, err := parse(url)
	if err == nil {
		c, err = dial(ctx, settings, path)
	}
	return c, err
}

// dial makes a connection outside a pool, and checks the server.
func dial(ctx context.Context, settings *pgxpool.Config, path string) (c Conn, err error) {
	one := settings.ConnConfig.Copy()
	setMode(one, pgx.QueryExecModeCacheDescribe)
	if settings.BeforeConnect != nil { // a program may set the password here
		err = settings.BeforeConnect(ctx, one)
	}
	if err == nil {
		c.Conn, err = pgx.ConnectConfig(ctx, one)
	}
	if err == nil {
		if err = c.examine(ctx, path); err != nil {
			_ = c.Close(context.WithoutCancel(ctx))
		}
	}
	return c, explain("connect to", settings.ConnString(), err)
}

// connect makes the pools of connections. It waits while the server starts.
func (s *Store) connect(ctx context.Context, c *pgxpool.Config, path string) error {
	one, err := dial(ctx, c, path)
	for try := 0; code(err) == starting; try++ {
		if try%10 == 0 {
			s.config.Logger.Info("PostgreSQL is starting: this node waits until it is ready", "error", err)
		}
		if !pause(ctx, time.Second) {
			return context.Cause(ctx)
		}
		one, err = dial(ctx, c, path)
	}
	if err != nil {
		return err
	}
	defer func() { _ = one.Close(ctx) }()
	s.schema, s.channel, s.pooled = schema(one.Schema), fmt.Sprintf("foliot:%x", sqltask.Hash(one.Schema)), one.Pooled
	if err := s.identify(ctx, one); err != nil {
		return explain("open", c.ConnString(), err)
	}
	after := c.AfterConnect
	c.AfterConnect = func(ctx context.Context, conn *pgx.Conn) (err error) {
		if after != nil {
			err = after(ctx, conn)
		}
		if err == nil {
			err = within(ctx, func(ctx context.Context) error { return s.recognize(ctx, conn) })
		}
		return err
	}
	setMode(c.ConnConfig, pgx.QueryExecModeCacheDescribe)
	if !s.pooled { // poolers refuse it
		setMode(c.ConnConfig, pgx.QueryExecModeCacheStatement)
		// The planner expects many rows of statements that find few, and JIT would compile
		// them for 200 ms each time.
		c.ConnConfig.RuntimeParams["jit"] = "off"
		c.ConnConfig.RuntimeParams["default_transaction_isolation"] = "read committed"
	}
	if s.config.Pool != nil || !strings.Contains(s.config.URL, "pool_max_conns") {
		c.MaxConns, c.MinConns, c.MinIdleConns = poolSize, 0, 0
	}
	notice := c.ConnConfig.OnNotice
	c.PingTimeout = time.Second // a server that stands still would keep its connections in the pool
	c.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool { return p.IdleDuration > pingAfter }
	c.ConnConfig.OnNotice = func(c *pgconn.PgConn, n *pgconn.Notice) {
		if n.SeverityUnlocalized == "WARNING" {
			c.CustomData()[warned] = n.Message
		}
		if notice != nil {
			notice(c, n)
		}
	}
	c.ConnConfig.OnNotification = func(*pgconn.PgConn, *pgconn.Notification) {} // a pooler can send those of another client
	if s.pool, err = pgxpool.NewWithConfig(ctx, c.Copy()); err == nil {
		neverCancel(c)
		s.commits, err = pgxpool.NewWithConfig(ctx, c)
	}
	return err
}

// setMode sets how connections prepare statements, in place of the settings of a program
// or of a URL. Others than these modes guess the types of arguments, and CacheStatement
// uses names, which clash behind a pooler.
func setMode(c *pgx.ConnConfig, mode pgx.QueryExecMode) {
	c.DefaultQueryExecMode, c.StatementCacheCapacity, c.DescriptionCacheCapacity = mode, 512, 512
}

// neverCancel makes connections that end without a cancel request. Otherwise pgx sends one
// for each connection that breaks or is closed during a statement, and it would end a
// COMMIT's wait for a standby with a commit that is not replicated.
func neverCancel(c *pgxpool.Config) {
	before := c.BeforeConnect
	c.BeforeConnect = func(ctx context.Context, one *pgx.ConnConfig) error {
		var connected atomic.Bool
		dial, after := one.DialFunc, one.AfterConnect
		one.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			if connected.Load() {
				return nil, errors.New("a COMMIT must not be cancelled")
			}
			return dial(ctx, network, address)
		}
		one.AfterConnect = func(ctx context.Context, c *pgconn.PgConn) error {
			connected.Store(true)
			if after != nil {
				return after(ctx, c)
			}
			return nil
		}
		one.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler { return closer{c} }
		if before != nil {
			return before(ctx, one)
		}
		return nil
	}
}

// closer closes a connection when the context of a statement ends.
type closer struct{ *pgconn.PgConn }

func (c closer) HandleCancel(context.Context) { _ = c.Conn().Close() }

func (c closer) HandleUnwatchAfterCancel() {}

// schema is the schema of the tables, quoted if necessary. Statements write foliot in its
// place, and it is their first argument: poolers refuse a search_path, and that of a
// user's transaction is the user's.
type schema string

func (n schema) in(sql string) string { return strings.ReplaceAll(sql, "foliot.", string(n)+".") }

// RewriteQuery implements pgx.QueryRewriter.
func (n schema) RewriteQuery(_ context.Context, _ *pgx.Conn, sql string, args []any) (string, []any, error) {
	return n.in(sql), args, nil
}

// poolSize is the number of connections of a pool. A process has two pools: commits may
// wait for a standby, and must not hold up reads and leases.
const poolSize = 5

// pingAfter is how long a connection can be unused before its next use tests it. It is
// longer than the time between heartbeats, because a test is a statement too.
const pingAfter = 2 * time.Second

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
			for pool == s.commits && s.awaitsStandby(ctx) && pause(ctx, s.silent) {
			}
			end()
		}).Stop()
		result, err := use(ctx, c)
		if err != nil && ctx.Err() != nil {
			err = errSilent
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

// awaitsStandby reports whether a COMMIT of this role waits for a standby. Behind a pooler,
// the server's number of a connection is unknown.
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
