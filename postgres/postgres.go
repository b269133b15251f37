// Package postgres keeps the tasks of package foliot in PostgreSQL 14 or newer, where
// a task commits with the rows of the program.
//
//	store, err := postgres.Parse("postgres://localhost/shop?search_path=foliot")
//	...
//	node, err := foliot.Open(ctx, store, mux, foliot.Options{})
//	...
//	tx, err := pool.Begin(ctx)
//	s := postgres.Tx(node, tx)
//	closeOrder.In(ctx, s, "close-"+id, 30*time.Minute, Order{ID: id})
//	s.Cancel(ctx, "remind-"+id) // both commit, or do not, with the rows
//	tx.Commit(ctx)
//
// The command `foliot postgres migrate` makes the tables, in a schema of their own.
// Each process that runs owns a part of the tasks, and runs only those: see package
// foliot/redis. The command `foliot serve` only sends requests, so it must not use the
// same schema.
package postgres

import (
	"context"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/engine/postgres"
	"github.com/foliot/foliot/internal/store/pgstore"
)

// Parse returns the store at a URL, or at a connection string of libpq. The schema is
// the first one of search_path.
func Parse(url string) (foliot.Store, error) {
	if _, err := pgstore.Parse(url); err != nil {
		return foliot.Store{}, err
	}
	m := postgres.Embedded()
	m.Config.URL = url
	return engine.NewStore(m).(foliot.Store), nil
}

// Tx returns a Scheduler that reads and writes in a transaction of the program, in the
// same database as the store of node. Their changes happen if tx commits: the
// durability is that of the commit. If a call returns an error of the database, tx can
// only be rolled back, as after any statement that fails. Calls wait for each other, and
// the program must not use tx during a call. Queues are no part of a transaction.
//
// A task is delivered at most 250 ms after the commit if its node had work in the last
// 10 seconds, and otherwise 1.1 s.
func Tx(node *foliot.Node, tx pgx.Tx) foliot.Scheduler { return scheduler{node, tx} }

// scheduler makes the calls of a node in a transaction.
type scheduler struct {
	*foliot.Node
	tx pgx.Tx
}

func (s scheduler) within(ctx context.Context) context.Context { return pgstore.Within(ctx, &pgstore.Transaction{DB: s.tx}) }

func (s scheduler) CreateMany(ctx context.Context, items []foliot.Item) ([]foliot.Result, error) {
	return s.Node.CreateMany(s.within(ctx), items)
}

func (s scheduler) PutMany(ctx context.Context, items []foliot.Item) ([]foliot.Result, error) {
	return s.Node.PutMany(s.within(ctx), items)
}

func (s scheduler) CancelMany(ctx context.Context, names []string) ([]foliot.CancelResult, error) {
	return s.Node.CancelMany(s.within(ctx), names)
}

func (s scheduler) Move(ctx context.Context, name string, w foliot.When) (foliot.Info, error) {
	return s.Node.Move(s.within(ctx), name, w)
}

func (s scheduler) Touch(ctx context.Context, name string) (foliot.Info, error) {
	return s.Node.Touch(s.within(ctx), name)
}

func (s scheduler) Cancel(ctx context.Context, name string) (foliot.Cancelled, error) {
	return s.Node.Cancel(s.within(ctx), name)
}

func (s scheduler) Retry(ctx context.Context, name string) (foliot.Info, error) {
	return s.Node.Retry(s.within(ctx), name)
}

func (s scheduler) Get(ctx context.Context, name string) (foliot.Info, error) {
	return s.Node.Get(s.within(ctx), name)
}

func (s scheduler) List(ctx context.Context, f foliot.Filter) iter.Seq2[foliot.Info, error] {
	return s.Node.List(s.within(ctx), f)
}

func (s scheduler) Schedule(ctx context.Context, r foliot.Rule, item foliot.Item) error {
	return s.Node.Schedule(s.within(ctx), r, item)
}

func (s scheduler) Unschedule(ctx context.Context, name string) error {
	return s.Node.Unschedule(s.within(ctx), name)
}
