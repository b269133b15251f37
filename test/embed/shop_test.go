package embed

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/servertest/pgtest"
	"github.com/foliot/foliot/internal/store/pgstore"
	"github.com/foliot/foliot/postgres"
)

// closing is the kind that closes an order. Each order has one task, which is created
// in the transaction that writes the order.
var closing = foliot.NewKind[string]("closing", foliot.Backoff(50*time.Millisecond, time.Second))

// orderShop is a program that keeps its orders and its tasks in one PostgreSQL.
type orderShop struct {
	pool *pgxpool.Pool
	db   *sql.DB
}

// openShop connects to the database, and sets the handler that closes orders.
func openShop(ctx context.Context, url string, mux *foliot.Mux) (*orderShop, error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, err
	}
	s := &orderShop{pool, stdlib.OpenDBFromPool(pool)}
	closing.Handle(mux, func(ctx context.Context, t *foliot.Task[string]) error {
		if rand.IntN(2) == 0 {
			return s.closeBySQL(ctx, t.Name)
		}
		err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "INSERT INTO public.closed VALUES ($1, $2)", t.Name, os.Getpid()); err != nil {
				return err
			}
			return errors.Join(postgres.Complete(ctx, tx), maybe())
		})
		return errors.Join(err, maybe())
	})
	return s, nil
}

func (s *orderShop) closeBySQL(ctx context.Context, name string) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, "INSERT INTO public.closed VALUES ($1, $2)", name, os.Getpid()); err != nil {
		return err
	}
	if err := errors.Join(postgres.SQLComplete(ctx, tx), maybe()); err != nil {
		return err
	}
	return errors.Join(tx.Commit(), maybe())
}

// maybe waits for up to 20 ms, in which a kill can come, and fails now and then.
func maybe() error {
	time.Sleep(rand.N(20 * time.Millisecond))
	if rand.IntN(10) == 0 {
		return errors.New("a failure of the handler")
	}
	return nil
}

// load writes orders with their tasks, until ctx ends.
func (s *orderShop) load(ctx context.Context, n *foliot.Node, run string) {
	var work sync.WaitGroup
	for w := range 4 {
		work.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				name := fmt.Sprintf("o-%s-%d-%d", run, w, i)
				err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
					if _, err := tx.Exec(ctx, "INSERT INTO public.orders VALUES ($1)", name); err != nil {
						return err
					}
					_, err := closing.In(ctx, postgres.Tx(n, tx), name, rand.N(300*time.Millisecond), "")
					return errors.Join(err, maybe())
				})
				if err == nil {
					time.Sleep(rand.N(20 * time.Millisecond)) // so that the orders stay few
				}
			}
		})
	}
	work.Wait()
}

// An order is closed if and only if its task is done, at any time and despite kills of
// the programs.
func TestNoKillSeparatesTheRowsOfAHandlerFromTheEndOfItsTask(t *testing.T) {
	server := pgtest.New(t)
	url := server.URL() + "&search_path=foliot"
	fatal.If(t, pgstore.Migrate(t.Context(), url))
	pool, err := pgxpool.New(t.Context(), url+",public")
	fatal.If(t, err)
	defer pool.Close()
	_, err = pool.Exec(t.Context(), "CREATE TABLE public.orders (id text PRIMARY KEY); CREATE TABLE public.closed (id text, pid int, seq serial)")
	fatal.If(t, err)
	count := func(sql string, args ...any) (n int) {
		fatal.If(t, pool.QueryRow(t.Context(), sql, args...).Scan(&n))
		return n
	}
	running := map[int]*child{}
	begin := func(mode string, run int) {
		c := start(t, mode, url, os.DevNull, fmt.Sprint(run))
		c.ready(t)
		running[c.cmd.Process.Pid] = c
	}
	for i := range 3 {
		begin("shop", -i)
	}
	inFlight := 0
	for i := range kills() {
		before, victim := count("SELECT count(*) FROM closed"), 0
		redistest.Until(t, "orders are closed", func() bool { return count("SELECT count(*) FROM closed") > before+20 })
		time.Sleep(rand.N(50 * time.Millisecond)) // so that the kill comes at any time
		victim = count("SELECT pid FROM closed ORDER BY seq DESC LIMIT 1")
		open := count("SELECT count(*) FROM pg_locks WHERE relation = 'closed'::regclass AND mode = 'RowExclusiveLock'")
		running[victim].kill()
		inFlight += open
		delete(running, victim)
		begin("shop", i+1)
		if n := count(differences); n != 0 {
			t.Fatalf("after %d kills, %d orders and their tasks differ", i+1, n)
		}
	}
	for _, c := range running {
		c.kill()
	}
	begin("shop-drain", 0)
	for left := -1; left != 0; { // a busy machine has thousands of them
		before := left
		redistest.Until(t, "further orders are closed", func() bool {
			left = count("SELECT count(*) FROM orders WHERE NOT EXISTS (SELECT FROM closed WHERE closed.id = orders.id)")
			return left < before || before < 0 || left == 0
		})
	}
	if n := count(differences); n != 0 {
		t.Errorf("%d orders and their tasks differ", n)
	}
	t.Logf("%d kills: %d orders, each closed once; %d transactions of handlers were open at a kill", kills(), count("SELECT count(*) FROM orders"), inFlight)
	if inFlight == 0 {
		t.Error("no kill came while a transaction of a handler was open")
	}
}

// differences counts the orders without a task, those that were closed twice, and those
// that are closed while their task goes on, or the other way round.
const differences = `SELECT count(*) FROM orders FULL JOIN task ON key = 'default/' || id LEFT JOIN (SELECT id, count(*) AS times FROM closed GROUP BY id) c USING (id)
	WHERE id IS NULL OR key IS NULL OR (lane IS NULL)::int <> coalesce(times, 0)`
