package postgres

import (
	"context"
	"database/sql"
	"errors"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/store/pgstore"
)

// Tx returns a Scheduler that reads and writes in a transaction of the program, in the
// same database as the store of node. Its changes happen if tx commits, with the
// durability of that commit. If a call returns an error of the database, tx can only be
// rolled back, as after any statement that fails. Calls wait for each other, and the
// program must not use tx during a call. Queues does not use tx. Tx panics if the store
// of node is not one of this package. If tx is in a database without that store (a restored
// copy has it), calls return foliot.ErrInvalid: then roll back too.
//
// A task that is due at the commit starts at most 250 ms after it if its node had work
// in the last 10 seconds, and otherwise 1.1 s.
func Tx(node *foliot.Node, tx pgx.Tx) foliot.Scheduler { return schedulerOf(node, tx) }

// SQLTx is Tx for a transaction of database/sql, with any driver for PostgreSQL.
func SQLTx(node *foliot.Node, tx *sql.Tx) foliot.Scheduler {
	return schedulerOf(node, sqlQuerier{tx})
}

func schedulerOf(node *foliot.Node, tx pgstore.Querier) scheduler {
	if err := check(engine.Of(node)); err != nil {
		panic(err)
	}
	return scheduler{node, &pgstore.Transaction{DB: tx}}
}

// check returns an error if the store of a node is in no database.
func check(n *engine.Node) error {
	if _, is := n.Store.(*pgstore.Store); !is {
		return errors.New("foliot/postgres: the store of the node is not in PostgreSQL, so it cannot take part in a transaction: open the node with a store of Parse or Use")
	}
	return nil
}

// Complete settles the attempt of a handler in a transaction of the program, in the
// same database as the store: the task is done if tx commits, and only then. So the
// rows that tx writes are written exactly once, although a task can be started several
// times. ctx is the context of the handler, and Complete is called once, before the
// commit:
//
//	closeOrder.Handle(mux, func(ctx context.Context, t *foliot.Task[Order]) error {
//		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
//			if _, err := tx.Exec(ctx, "UPDATE orders SET closed = true WHERE id = $1 AND NOT paid", t.Args.ID); err != nil {
//				return err
//			}
//			return postgres.Complete(ctx, tx)
//		})
//	})
//
// If Complete returns an error, such as foliot.ErrLeaseLost because another process may
// have started the task, the handler must roll back. If tx has committed, the task is
// done, whatever the handler returns. Otherwise the attempt ends with the error of the
// handler, and counts as failed if the handler returns nil.
//
// Until the end of tx no call can change the task: commit soon, within Options.Lease.
func Complete(ctx context.Context, tx pgx.Tx) error { return complete(ctx, tx) }

// SQLComplete is Complete for a transaction of database/sql, with any driver for
// PostgreSQL.
func SQLComplete(ctx context.Context, tx *sql.Tx) error { return complete(ctx, sqlQuerier{tx}) }

func complete(ctx context.Context, tx pgstore.Querier) error {
	a, is := ctx.Value(engine.AttemptKey{}).(engine.Attempt)
	if !is {
		return errors.New("foliot/postgres: Complete was called outside a handler: pass the context of the handler, or one derived from it")
	}
	if err := check(a.Node()); err != nil {
		return err
	}
	return a.Complete(pgstore.Within(ctx, &pgstore.Transaction{DB: tx}))
}

// scheduler makes the calls of a node in a transaction.
type scheduler struct {
	*foliot.Node
	tx *pgstore.Transaction
}

func (s scheduler) within(ctx context.Context) context.Context { return pgstore.Within(ctx, s.tx) }

// uncommitted removes the durability from a result, because the COMMIT decides.
func uncommitted(i foliot.Info, err error) (foliot.Info, error) {
	i.Durability = ""
	return i, err
}

// allUncommitted is uncommitted for each of results.
func allUncommitted(results []foliot.Result, err error) ([]foliot.Result, error) {
	for i := range results {
		results[i].Info.Durability = ""
	}
	return results, err
}

func (s scheduler) CreateMany(ctx context.Context, items []foliot.Item) ([]foliot.Result, error) {
	return allUncommitted(s.Node.CreateMany(s.within(ctx), items))
}

func (s scheduler) PutMany(ctx context.Context, items []foliot.Item) ([]foliot.Result, error) {
	return allUncommitted(s.Node.PutMany(s.within(ctx), items))
}

func (s scheduler) CancelMany(ctx context.Context, names []string) ([]foliot.CancelResult, error) {
	return s.Node.CancelMany(s.within(ctx), names)
}

func (s scheduler) Move(ctx context.Context, name string, w foliot.When) (foliot.Info, error) {
	return uncommitted(s.Node.Move(s.within(ctx), name, w))
}

func (s scheduler) Touch(ctx context.Context, name string) (foliot.Info, error) {
	return uncommitted(s.Node.Touch(s.within(ctx), name))
}

func (s scheduler) Cancel(ctx context.Context, name string) (foliot.Cancelled, error) {
	return s.Node.Cancel(s.within(ctx), name)
}

func (s scheduler) Retry(ctx context.Context, name string) (foliot.Info, error) {
	return uncommitted(s.Node.Retry(s.within(ctx), name))
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
