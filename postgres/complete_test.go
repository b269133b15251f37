package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/foliottest"
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
	return openedAt(t, server.URL()+"&pool_max_conns=8&search_path="+server.Schema(t), handler)
}

// openedAt is opened with a pool at a URL.
func openedAt(t *testing.T, url string, handler func(context.Context, *shop, *foliot.Task[order]) error) *shop {
	t.Helper()
	server := pgtest.Shared(t)
	schema := server.Schema(t)
	fatal.If(t, pgstore.Migrate(t.Context(), server.URL()+"&search_path="+schema))
	s := &shop{errors: &lines{}}
	var err error
	s.pool, err = pgxpool.New(t.Context(), url)
	fatal.If(t, err)
	t.Cleanup(s.pool.Close)
	s.db = stdlib.OpenDBFromPool(s.pool)
	t.Cleanup(func() { fatal.If(t, s.db.Close()) })
	_, err = s.pool.Exec(t.Context(), "CREATE TABLE task (id text, attempt int)") // the name of one of the store's tables
	fatal.If(t, err)
	mux := new(foliot.Mux)
	closeOrder.Handle(mux, func(ctx context.Context, task *foliot.Task[order]) error { return handler(ctx, s, task) })
	s.Node, err = foliot.Open(t.Context(), Use(s.pool, schema), mux, foliot.Options{Logger: slog.New(slog.NewTextHandler(s.errors, &slog.HandlerOptions{Level: slog.LevelError}))})
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

// ends are ways in which the first attempt of a task goes on after Complete. Unless it
// has committed, there is a second attempt, which commits.
var ends = map[string]struct {
	before   func(context.Context, *shop, string) error // Complete
	after    func(context.Context, *shop, transaction, string) error
	attempts int
	fails    uint64
}{
	"commit":                 {after: commits(nil), attempts: 1},
	"error after the commit": {after: commits(errStop), attempts: 1},
	"dead after the commit":  {after: commits(foliot.Dead(errStop)), attempts: 1},
	"panic after the commit": {after: func(ctx context.Context, s *shop, x transaction, _ string) error {
		_ = x.commit(ctx)
		panic("stop")
	}, attempts: 1},
	"rollback": {after: func(ctx context.Context, _ *shop, x transaction, _ string) error { return x.rollback(ctx) }, attempts: 2, fails: 1},
	"error":    {after: func(context.Context, *shop, transaction, string) error { return errStop }, attempts: 2, fails: 1},
	"snooze":   {after: func(context.Context, *shop, transaction, string) error { return foliot.Snooze(0) }, attempts: 2},
	"panic":    {after: func(context.Context, *shop, transaction, string) error { panic("stop") }, attempts: 2, fails: 1},
	"exit":     {after: func(context.Context, *shop, transaction, string) error { runtime.Goexit(); return nil }, attempts: 2, fails: 1},
	"end of the context": {after: func(ctx context.Context, _ *shop, x transaction, _ string) error {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return errors.Join(ctx.Err(), x.exec(ctx, "SELECT 1"))
	}, attempts: 2, fails: 1},
	"end of the connection": {after: func(ctx context.Context, s *shop, x transaction, _ string) error {
		return errors.Join(x.exec(ctx, "SELECT pg_terminate_backend(pg_backend_pid())"), x.commit(ctx))
	}, attempts: 2, fails: 1},
	"lost lease": {before: loseLease, attempts: 2, after: func(context.Context, *shop, transaction, string) error {
		return foliot.Dead(errors.New("Complete succeeded without a lease"))
	}},
	"lost lease before the commit": {after: func(ctx context.Context, s *shop, x transaction, name string) error {
		if err := loseLease(ctx, s, name); !errors.Is(err, task.ErrUnavailable) {
			return foliot.Dead(errors.Join(errors.New("a locked lease was lost"), err))
		}
		return x.commit(ctx)
	}, attempts: 1},
	"cancel": {before: func(ctx context.Context, s *shop, name string) error {
		_, err := s.Cancel(ctx, name)
		return err
	}, after: commits(nil), attempts: 1},
}

var errStop = errors.New("stop")

// commits returns an end that commits, and then returns an error.
func commits(then error) func(context.Context, *shop, transaction, string) error {
	return func(ctx context.Context, _ *shop, x transaction, _ string) error {
		return errors.Join(x.commit(ctx), then)
	}
}

func TestTheRowsAndTheEndOfATaskCommitTogether(t *testing.T) {
	s := opened(t, func(ctx context.Context, s *shop, o *foliot.Task[order]) error {
		ctx = withoutCancel{ctx}
		x, err := drivers[o.Queue](ctx, s)
		if err != nil {
			return err
		}
		defer func() { _ = x.rollback(ctx) }() // an error if it has committed
		if err := x.exec(ctx, "INSERT INTO task VALUES ($1, $2)", o.Name, o.Attempt); err != nil {
			return err
		}
		end := ends[o.Args.ID]
		if o.Attempt == 1 && end.before != nil {
			if err := end.before(ctx, s, o.Name); err != nil {
				return foliot.Dead(err)
			}
		}
		if err := x.complete(ctx); err != nil {
			return err
		}
		if o.Attempt == 1 {
			return end.after(ctx, s, x, o.Name)
		}
		return x.commit(ctx)
	})
	fails := uint64(0)
	var items []foliot.Item
	var ids []string
	for id, end := range ends {
		for driver := range drivers {
			items = append(items, closeOrder.Item(strings.ReplaceAll(id, " ", "-")+"-"+driver, foliot.In(0), order{id}, foliot.InQueue(driver)))
			ids = append(ids, id)
			fails += end.fails
		}
	}
	results, err := s.CreateMany(t.Context(), items)
	fatal.If(t, err)
	redistest.Until(t, "all tasks are done", func() bool { return s.Stats().Delivered+s.Stats().Dead >= uint64(len(items)) })
	for i, r := range results {
		fatal.If(t, r.Err)
		task, err := s.Get(t.Context(), r.Info.Name)
		fatal.If(t, err)
		var rows, last int
		fatal.If(t, s.pool.QueryRow(t.Context(), "SELECT count(*), max(attempt) FROM task WHERE id = $1", r.Info.Name).Scan(&rows, &last))
		if want := ends[ids[i]].attempts; task.State != foliot.StateDelivered || task.Attempts != want || rows != 1 || last != want {
			t.Errorf("%s is %s after %d attempts with %d rows, the last by attempt %d (%s)", r.Info.Name, task.State, task.Attempts, rows, last, task.LastError)
		}
	}
	if n := s.Stats(); n.Delivered != uint64(len(items)) || n.Failed != fails || n.Dead != 0 {
		t.Errorf("%+v; want %d delivered and %d failed", n, len(items), fails)
	}
	for line := range strings.Lines(s.errors.text()) {
		if !strings.Contains(line, "panicked") && !strings.Contains(line, "leases ended before their outcomes were settled: their tasks will be sent again\" stale=") {
			t.Errorf("the node logged %s", line)
		}
	}
}

// withoutCancel is a context of a handler that ignores the end of its attempt.
type withoutCancel struct{ context.Context }

func (withoutCancel) Done() <-chan struct{} { return nil }
func (withoutCancel) Err() error            { return nil }

// loseLease ends the lease of a task, as the node does after its end.
func loseLease(ctx context.Context, s *shop, name string) error {
	st := engine.Of(s.Node).Store
	t, err := st.Get(ctx, task.Key{Namespace: task.DefaultNamespace, Name: name})
	if err != nil {
		return err
	}
	replies, err := st.Transit(ctx, 1, store.Settlements([]task.Settlement{{Key: t.Key(), Token: t.Lease.Token, Outcome: task.Outcome{Verdict: task.Interrupted}}}))
	return errors.Join(err, replies[0].Err)
}

// Complete works through a pooler that runs each transaction on another connection of the
// server, at REPEATABLE READ although the node extends the lease, for tasks of a schedule,
// and in a queue with a limit, where it returns the permit.
func TestCompleteSettlesTasksOfSchedulesAndOfLimitedQueues(t *testing.T) {
	server := pgtest.Shared(t)
	for name, url := range map[string]func(t *testing.T) string{
		"direct": func(t *testing.T) string { return server.URL() + "&search_path=" + server.Schema(t) },
		"pooler": func(t *testing.T) string { return server.Bouncer(t) + "&default_query_exec_mode=exec" },
	} {
		t.Run(name, func(t *testing.T) {
			var limited atomic.Int64
			s := openedAt(t, url(t), func(ctx context.Context, s *shop, o *foliot.Task[order]) error {
				if o.Queue == "limited" {
					if limited.Add(1) > 1 {
						t.Error("two tasks of the queue ran at once")
					}
					defer limited.Add(-1)
				}
				return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
					_, err := tx.Exec(ctx, "INSERT INTO task VALUES ($1, $2)", o.Name, o.Attempt)
					return errors.Join(err, extend(ctx, s, o.Name), Complete(ctx, tx))
				})
			})
			fatal.If(t, s.Queues().Set(t.Context(), "limited", foliot.QueueLimits{Concurrency: 1}))
			var items []foliot.Item
			for i := range 20 { // a permit that is not returned ends after 6 s
				items = append(items, closeOrder.Item(fmt.Sprint("order-", i), foliot.In(0), order{}, foliot.InQueue("limited")))
			}
			_, err := s.CreateMany(t.Context(), items)
			fatal.If(t, errors.Join(err, closeOrder.Schedule(t.Context(), s, "tick", foliot.Every(time.Second), order{})))
			redistest.Until(t, "all tasks are done", func() bool { return s.Stats().Delivered+s.Stats().Failed >= uint64(len(items)+2) })
			fatal.If(t, s.Unschedule(t.Context(), "tick"))
			var rows, different, first int
			fatal.If(t, s.pool.QueryRow(t.Context(), "SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE id LIKE 'order-%') FROM task").Scan(&rows, &different, &first))
			if rows != different || first != len(items) || rows < first+2 || s.Stats().Failed > 0 || s.errors.text() != "" {
				t.Errorf("%d rows of %d tasks, %d of the queue; %+v; %s", rows, different, first, s.Stats(), s.errors.text())
			}
		})
	}
}

// extend extends the lease of a task, as the node does while it runs.
func extend(ctx context.Context, s *shop, name string) error {
	st := engine.Of(s.Node).Store
	t, err := st.Get(ctx, task.Key{Namespace: task.DefaultNamespace, Name: name})
	if err != nil {
		return err
	}
	replies, err := st.Transit(ctx, 1, store.Extensions([]task.Extension{{Key: t.Key(), Token: t.Lease.Token, Until: t.Lease.Until + 1000}}))
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

func TestTxRefusesANodeWithAnotherStore(t *testing.T) {
	n := foliottest.Start(t, new(foliot.Mux))
	defer func() {
		if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), "not in PostgreSQL") {
			t.Error(err)
		}
	}()
	Tx(n, pgx.Tx(nil))
}
