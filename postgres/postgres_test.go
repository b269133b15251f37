package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"go.uber.org/goleak"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/servertest/pgtest"
	"github.com/foliot/foliot/internal/store/pgstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main{M: m}) }

// A task that a transaction creates runs if the transaction commits, and one that it
// cancels does not.
func TestTasksRunIfTheirTransactionCommits(t *testing.T) {
	type order struct{ N int }
	closeOrder := foliot.NewKind[order]("close-order")
	server := pgtest.Shared(t)
	url := server.URL() + "&search_path=" + server.Schema(t)
	fatal.If(t, pgstore.Migrate(t.Context(), url))
	st, err := Parse(url)
	fatal.If(t, err)
	var mu sync.Mutex
	ran := map[string]int{}
	mux := new(foliot.Mux)
	closeOrder.Handle(mux, func(_ context.Context, task *foliot.Task[order]) error {
		mu.Lock()
		defer mu.Unlock()
		ran[task.Name]++
		return nil
	})
	n, err := foliot.Open(t.Context(), st, mux, foliot.Options{Logger: slog.New(slog.DiscardHandler)})
	fatal.If(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	defer func() { stop(); fatal.If(t, <-ended); fatal.If(t, n.Close()) }()

	c, err := pgx.Connect(t.Context(), url)
	fatal.If(t, err)
	defer c.Close(t.Context())
	_, err = c.Exec(t.Context(), "CREATE TABLE orders (id int)")
	fatal.If(t, err)
	const orders = 20
	for i := range orders {
		_, err := closeOrder.In(t.Context(), n, fmt.Sprint("remind-", i), 2*time.Second, order{i})
		fatal.If(t, err)
		tx, err := c.Begin(t.Context())
		fatal.If(t, err)
		_, err = tx.Exec(t.Context(), "INSERT INTO orders VALUES ($1)", i)
		fatal.If(t, err)
		s := Tx(n, tx)
		_, err = closeOrder.In(t.Context(), s, fmt.Sprint("close-", i), 2*time.Second, order{i})
		fatal.If(t, err)
		_, err = s.Cancel(t.Context(), fmt.Sprint("remind-", i))
		fatal.If(t, err)
		if i%2 == 0 {
			fatal.If(t, tx.Commit(t.Context()))
		} else {
			fatal.If(t, tx.Rollback(t.Context()))
		}
	}
	redistest.Until(t, "the tasks of all orders have run", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(ran) == orders
	})
	for i := range orders {
		name := fmt.Sprint("close-", i)
		if i%2 == 1 {
			name = fmt.Sprint("remind-", i)
		}
		if ran[name] != 1 {
			t.Errorf("%s ran %d times", name, ran[name])
		}
	}
}

// Without a name, the schema is the first one of the pool's search_path.
func TestUseFindsTheSchemaOfThePool(t *testing.T) {
	server := pgtest.Shared(t)
	schema := server.Schema(t)
	url := server.URL() + "&search_path=" + schema + ",public"
	fatal.If(t, pgstore.Migrate(t.Context(), url))
	pool, err := pgxpool.New(t.Context(), url)
	fatal.If(t, err)
	defer pool.Close()
	for _, st := range []foliot.Store{Use(pool), Use(pool, schema)} {
		n, err := foliot.Open(t.Context(), st, new(foliot.Mux), foliot.Options{Logger: slog.New(slog.DiscardHandler)})
		fatal.If(t, err)
		fatal.If(t, n.Close())
	}
	if _, err := foliot.Open(t.Context(), Use(pool, "absent"), new(foliot.Mux), foliot.Options{}); err == nil || !strings.Contains(err.Error(), "foliot postgres migrate") {
		t.Errorf("a schema without tables: %v", err)
	}
}

// A store of the same name in another database is another store.
func TestTxRefusesATransactionOfAnotherDatabase(t *testing.T) {
	server, another := pgtest.Shared(t), pgtest.New(t)
	schema := "&search_path=" + server.Schema(t)
	fatal.If(t, pgstore.Migrate(t.Context(), server.URL()+schema))
	_, err := Parse(server.URL() + schema + "&durability=weak")
	if err == nil || !strings.Contains(err.Error(), "must be async, default or strict") {
		t.Errorf("a URL with a durability that does not exist: %v", err)
	}
	st, err := Parse(server.URL() + schema + "&durability=async")
	fatal.If(t, err)
	n, err := foliot.Open(t.Context(), st, nil, foliot.Options{Logger: slog.New(slog.DiscardHandler)})
	fatal.If(t, err)
	defer func() { fatal.If(t, n.Close()) }()
	puts := func(url string, name string) (i foliot.Info, err, bySQL error) {
		pool, err := pgxpool.New(t.Context(), url)
		fatal.If(t, err)
		defer pool.Close()
		db := stdlib.OpenDBFromPool(pool)
		defer func() { fatal.If(t, db.Close()) }()
		tx, err := db.BeginTx(t.Context(), nil)
		fatal.If(t, err)
		_, bySQL = foliot.NewKind[int]("k").Put(t.Context(), SQLTx(n, tx), name+"-sql", foliot.In(time.Hour), 1)
		fatal.If(t, tx.Rollback())
		for range 2 {
			err = pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
				i, err = foliot.NewKind[int]("k").Put(t.Context(), Tx(n, tx), name, foliot.In(time.Hour), 1)
				return err
			})
		}
		return i, err, bySQL
	}
	if i, err, bySQL := puts(server.URL()+schema, "a"); err != nil || bySQL != nil || i.Durability != "" {
		t.Errorf("%+v, %v, %v", i, err, bySQL)
	}
	if i, err := foliot.NewKind[int]("k").In(t.Context(), n, "b", time.Hour, 1); err != nil || i.Durability != "async" {
		t.Errorf("%+v, %v", i, err)
	}
	for range 2 { // without tables, and with those of another store
		_, err, bySQL := puts(another.URL()+schema, "c")
		for _, err := range []error{err, bySQL} {
			if !errors.Is(err, foliot.ErrInvalid) || !strings.Contains(err.Error(), "another database") {
				t.Error(err)
			}
		}
		fatal.If(t, pgstore.Migrate(t.Context(), another.URL()+schema))
	}
}

func TestOpenSaysIfTheServerCannotBeReached(t *testing.T) {
	st, err := Parse("postgres://127.0.0.1:1/shop")
	fatal.If(t, err)
	if _, err := foliot.Open(t.Context(), st, nil, foliot.Options{}); !errors.Is(err, foliot.ErrUnavailable) {
		t.Error(err)
	}
}
