package postgres

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/servertest/pgtest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/pgstore"
	"github.com/foliot/foliot/internal/task"
)

type order struct{ ID string }

var closeOrder = foliot.NewKind[order]("close-order", foliot.Backoff(10*time.Millisecond, 20*time.Millisecond))

// shop is a program with tables of its own, in another schema than its tasks.
type shop struct {
	*foliot.Node
	pool   *pgxpool.Pool
	db     *sql.DB
	errors *lines
}

// lines are the errors that a node logs.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, string(line))
	return len(line), nil
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "")
}

// opened returns a shop that runs a handler.
func opened(t *testing.T, handler func(context.Context, *shop, *foliot.Task[order]) error) *shop {
	t.Helper()
	server := pgtest.Shared(t)
	url, own := server.URL()+"&search_path="+server.Schema(t), server.URL()+"&search_path="+server.Schema(t)
	fatal.If(t, pgstore.Migrate(t.Context(), url))
	st, err := Parse(url)
	fatal.If(t, err)
	s := &shop{errors: &lines{}}
	s.pool, err = pgxpool.New(t.Context(), own)
	fatal.If(t, err)
	t.Cleanup(s.pool.Close)
	s.db = stdlib.OpenDBFromPool(s.pool)
	t.Cleanup(func() { fatal.If(t, s.db.Close()) })
	_, err = s.pool.Exec(t.Context(), "CREATE TABLE task (id text, attempt int)") // the name of one of the store's tables
	fatal.If(t, err)
	mux := new(foliot.Mux)
	closeOrder.Handle(mux, func(ctx context.Context, task *foliot.Task[order]) error { return handler(ctx, s, task) })
	s.Node, err = foliot.Open(t.Context(), st, mux, foliot.Options{Logger: slog.New(slog.NewTextHandler(s.errors, &slog.HandlerOptions{Level: slog.LevelError}))})
	fatal.If(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() { stop(); fatal.If(t, <-ended); fatal.If(t, s.Close()) })
	return s
}

// transaction is a transaction of either package.
type transaction struct {
	exec             func(ctx context.Context, sql string, args ...any) error
	complete         func(ctx context.Context) error
	tasks            foliot.Scheduler
	commit, rollback func(context.Context) error
}

var drivers = map[string]func(context.Context, *shop) (transaction, error){
	"pgx": func(ctx context.Context, s *shop) (x transaction, _ error) {
		tx, err := s.pool.Begin(ctx)
		if err != nil {
			return x, err
		}
		return transaction{
			func(ctx context.Context, sql string, args ...any) error {
				_, err := tx.Exec(ctx, sql, args...)
				return err
			},
			func(ctx context.Context) error { return Complete(ctx, tx) },
			Tx(s.Node, tx), tx.Commit, tx.Rollback,
		}, nil
	},
	"sql": func(ctx context.Context, s *shop) (x transaction, _ error) {
		tx, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return x, err
		}
		return transaction{
			func(ctx context.Context, sql string, args ...any) error {
				_, err := tx.ExecContext(ctx, sql, args...)
				return err
			},
			func(ctx context.Context) error { return SQLComplete(ctx, tx) },
			SQLTx(s.Node, tx),
			func(context.Context) error { return tx.Commit() }, func(context.Context) error { return tx.Rollback() },
		}, nil
	},
}

// The rows of a handler and the end of its task commit together, whatever ends the
// first attempt. If the first attempt does not commit, the second one does.
func TestTheRowsAndTheEndOfATaskCommitTogether(t *testing.T) {
	stop := errors.New("stop")
	commits := func(ctx context.Context, x transaction) { fatalIf(x.commit(ctx)) }
	for name, c := range map[string]struct {
		before   func(context.Context, *shop) // Complete
		first    func(context.Context, *shop, transaction) error
		attempts int
		fails    uint64
		logs     string
	}{
		"commit":                 {first: func(ctx context.Context, _ *shop, x transaction) error { commits(ctx, x); return nil }, attempts: 1},
		"error after the commit": {first: func(ctx context.Context, _ *shop, x transaction) error { commits(ctx, x); return stop }, attempts: 1},
		"dead after the commit":  {first: func(ctx context.Context, _ *shop, x transaction) error { commits(ctx, x); return foliot.Dead(stop) }, attempts: 1},
		"panic after the commit": {first: func(ctx context.Context, _ *shop, x transaction) error { commits(ctx, x); panic("stop") }, attempts: 1, logs: "panicked"},
		"rollback":               {first: func(ctx context.Context, _ *shop, x transaction) error { return x.rollback(ctx) }, attempts: 2, fails: 1},
		"error":                  {first: func(context.Context, *shop, transaction) error { return stop }, attempts: 2, fails: 1},
		"snooze":                 {first: func(context.Context, *shop, transaction) error { return foliot.Snooze(0) }, attempts: 2},
		"panic":                  {first: func(context.Context, *shop, transaction) error { panic("stop") }, attempts: 2, fails: 1, logs: "panicked"},
		"exit":                   {first: func(context.Context, *shop, transaction) error { runtime.Goexit(); return nil }, attempts: 2, fails: 1},
		"end of the context": {first: func(ctx context.Context, _ *shop, x transaction) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return errors.Join(ctx.Err(), x.exec(ctx, "SELECT 1"))
		}, attempts: 2, fails: 1},
		"end of the connection": {first: func(ctx context.Context, s *shop, x transaction) error {
			_, err := s.pool.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE relation = 'task'::regclass AND mode = 'RowExclusiveLock'")
			return errors.Join(err, x.commit(ctx))
		}, attempts: 2, fails: 1},
		"lost lease": {before: func(ctx context.Context, s *shop) { fatalIf(loseLease(ctx, s)) }, first: func(ctx context.Context, s *shop, x transaction) error {
			return errors.New("Complete succeeded without a lease")
		}, attempts: 2, logs: "leases ended"},
		"lost lease before the commit": {first: func(ctx context.Context, s *shop, x transaction) error {
			if err := loseLease(ctx, s); !errors.Is(err, task.ErrUnavailable) {
				return errors.Join(errors.New("a locked lease was taken back"), err)
			}
			commits(ctx, x)
			return nil
		}, attempts: 1},
		"cancel": {before: func(ctx context.Context, s *shop) {
			_, err := s.Cancel(ctx, "order")
			fatalIf(err)
		}, first: func(ctx context.Context, _ *shop, x transaction) error { commits(ctx, x); return nil }, attempts: 1},
	} {
		for driver, begin := range drivers {
			t.Run(name+"/"+driver, func(t *testing.T) {
				t.Parallel()
				s := opened(t, func(ctx context.Context, s *shop, o *foliot.Task[order]) error {
					ctx = withoutCancel{ctx}
					x, err := begin(ctx, s)
					if err != nil {
						return err
					}
					defer func() { _ = x.rollback(ctx) }() // an error if it has committed
					if err := x.exec(ctx, "INSERT INTO task VALUES ($1, $2)", o.Args.ID, o.Attempt); err != nil {
						return err
					}
					if o.Attempt == 1 && c.before != nil {
						c.before(ctx, s)
					}
					if err := x.complete(ctx); err != nil {
						return err
					}
					if o.Attempt == 1 {
						return c.first(ctx, s, x)
					}
					return x.commit(ctx)
				})
				_, err := closeOrder.In(t.Context(), s, "order", 0, order{"42"})
				fatal.If(t, err)
				redistest.Until(t, "the task has ended", func() bool {
					i, err := s.Get(t.Context(), "order")
					fatal.If(t, err)
					return i.State != foliot.StateScheduled && i.State != foliot.StateRunning && s.Stats().Delivered > 0
				})
				i, err := s.Get(t.Context(), "order")
				fatal.If(t, err)
				rows, last := 0, 0
				fatal.If(t, s.pool.QueryRow(t.Context(), "SELECT count(*), max(attempt) FROM task").Scan(&rows, &last))
				if i.State != foliot.StateDelivered || i.Attempts != c.attempts || rows != 1 || last != c.attempts {
					t.Errorf("%s after %d attempts with %d rows, the last by attempt %d (%s)", i.State, i.Attempts, rows, last, i.LastError)
				}
				if n := s.Stats(); n.Delivered != 1 || n.Failed != c.fails || n.Dead != 0 {
					t.Errorf("%+v", n)
				}
				if text := s.errors.text(); (text != "") != (c.logs != "") || !strings.Contains(text, c.logs) {
					t.Errorf("the node logged %q", text)
				}
			})
		}
	}
}

// withoutCancel is a context of a handler that ignores the end of its attempt.
type withoutCancel struct{ context.Context }

func (withoutCancel) Done() <-chan struct{} { return nil }
func (withoutCancel) Err() error            { return nil }

// fatalIf ends an attempt in a way that no case expects.
func fatalIf(err error) {
	if err != nil {
		panic("unexpected: " + err.Error())
	}
}

// loseLease ends the lease of the order, as the node does after its end.
func loseLease(ctx context.Context, s *shop) error {
	st := engine.Of(s.Node).Store
	t, err := st.Get(ctx, task.Key{Namespace: task.DefaultNamespace, Name: "order"})
	if err != nil {
		return err
	}
	replies, err := st.Transit(ctx, 1, store.Settlements([]task.Settlement{{Key: t.Key(), Token: t.Lease.Token, Outcome: task.Outcome{Verdict: task.Interrupted}}}))
	return errors.Join(err, replies[0].Err)
}

// A handler can end its task and create the next one of the same name in one
// transaction.
func TestATaskCanCreateItsSuccessor(t *testing.T) {
	for driver, begin := range drivers {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			s := opened(t, func(ctx context.Context, s *shop, o *foliot.Task[order]) error {
				x, err := begin(ctx, s)
				if err != nil {
					return err
				}
				err = errors.Join(x.exec(ctx, "INSERT INTO task VALUES ($1, $2)", o.Args.ID, o.Attempt), x.complete(ctx))
				if next := o.Args.ID + "i"; err == nil && len(next) <= 4 {
					_, err = closeOrder.Put(ctx, x.tasks, o.Name, foliot.In(0), order{next})
				}
				if err != nil {
					return errors.Join(err, x.rollback(ctx))
				}
				return x.commit(ctx)
			})
			_, err := closeOrder.In(t.Context(), s, "order", 0, order{"i"})
			fatal.If(t, err)
			redistest.Until(t, "all four have run", func() bool { return s.Stats().Delivered+s.Stats().Failed >= 4 })
			var rows, different int
			fatal.If(t, s.pool.QueryRow(t.Context(), "SELECT count(*), count(DISTINCT id) FROM task").Scan(&rows, &different))
			if n := s.Stats(); rows != 4 || different != 4 || n.Delivered != 4 || s.errors.text() != "" {
				t.Errorf("%d rows, %d different; %+v; %s", rows, different, n, s.errors.text())
			}
		})
	}
}

func TestCompleteNeedsAHandler(t *testing.T) {
	if err := Complete(t.Context(), pgx.Tx(nil)); err == nil || !strings.Contains(err.Error(), "outside a handler") {
		t.Error(err)
	}
}
