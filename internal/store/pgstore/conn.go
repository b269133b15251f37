package pgstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/foliot/foliot/internal/store/sqltask"
)

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
		noticeVanished(settings.ConnConfig)
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
	noticeVanished(c.ConnConfig)
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
		// them for 200 ms each time. A plan that is made while a table is small, and is kept,
		// would read all of its dead rows later.
		c.ConnConfig.RuntimeParams["jit"] = "off"
		c.ConnConfig.RuntimeParams["enable_seqscan"] = "off"
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
// or of a URL. Other modes guess the types of arguments, and CacheStatement uses names,
// which clash behind a pooler.
func setMode(c *pgx.ConnConfig, mode pgx.QueryExecMode) {
	c.DefaultQueryExecMode, c.StatementCacheCapacity, c.DescriptionCacheCapacity = mode, 512, 512
}

// noticeVanished makes connections that break when the host of the server vanishes without
// a word, as in many failovers of managed databases.
func noticeVanished(c *pgx.ConnConfig) {
	const after = 5 * time.Second
	dial := c.DialFunc
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
			_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: after / 2, Interval: after / 5, Count: 3})
			_ = endUnacknowledged(tcp, after)
		}
		return conn, err
	}
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
