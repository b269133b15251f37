package postgres_test

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/postgres"
)

// orders are rows in the database that also has their timers.
type orders struct {
	pool *pgxpool.Pool
	node *foliot.Node
}

type orderToClose struct{ ID int }

var closeUnpaid = foliot.NewKind[orderToClose]("close-unpaid")

//doc:show pgorders

func (o *orders) open(ctx context.Context) (err error) {
	mux := new(foliot.Mux)
	closeUnpaid.Handle(mux, o.close)
	o.node, err = foliot.Open(ctx, postgres.Use(o.pool), mux, foliot.Options{})
	return err // then call o.node.Run
}

func (o *orders) create(ctx context.Context, name string, id int) error {
	return pgx.BeginFunc(ctx, o.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO orders (id) VALUES ($1)", id); err != nil {
			return err
		}
		_, err := closeUnpaid.In(ctx, postgres.Tx(o.node, tx), name, 30*time.Minute, orderToClose{ID: id})
		return err // nil: the row and the timer are committed together
	})
}

func (o *orders) close(ctx context.Context, t *foliot.Task[orderToClose]) error {
	return pgx.BeginFunc(ctx, o.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "UPDATE orders SET closed = true WHERE id = $1 AND NOT paid", t.Args.ID); err != nil {
			return err
		}
		return postgres.Complete(ctx, tx) // the task is done if, and only if, the row is closed
	})
}

//doc:end

//doc:show pgpaid

func (o *orders) pay(ctx context.Context, name string, id int) error {
	return pgx.BeginFunc(ctx, o.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "UPDATE orders SET paid = true WHERE id = $1", id); err != nil {
			return err
		}
		_, err := postgres.Tx(o.node, tx).Cancel(ctx, name)
		if errors.Is(err, foliot.ErrEnded) || errors.Is(err, foliot.ErrNotFound) {
			return nil // the order was closed before
		}
		return err
	})
}

//doc:end

// A timer in PostgreSQL commits with the rows of the program.
func Example_order() {
	var o orders // opened by the program
	_, _, _ = o.open, o.create, o.pay
}
