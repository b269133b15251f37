package foliot_test

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/foliot/foliot"
)

// invoices are in a SQL database, and each has a reminder.
type invoices struct {
	db     *sql.DB
	timers foliot.Scheduler
	mail   func(ctx context.Context, id string) error
}

type invoice struct{ ID string }

var remindInvoice = foliot.NewKind[invoice]("remind-invoice")

//doc:show transaction

func (i *invoices) create(ctx context.Context, id string, due time.Time) error {
	ctx, stop := context.WithTimeout(ctx, time.Minute) // the timer must not be due before the commit
	defer stop()
	tx, err := i.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "INSERT INTO invoices (id, remind_at) VALUES ($1, $2)", id, due); err != nil {
		return err // if the row exists, it has its timer
	}
	if _, err := remindInvoice.Put(ctx, i.timers, "remind-"+id, foliot.At(due), invoice{ID: id}); err != nil {
		return err
	}
	return tx.Commit()
}

func (i *invoices) remind(ctx context.Context, t *foliot.Task[invoice]) error {
	var due time.Time
	err := i.db.QueryRowContext(ctx, "SELECT remind_at FROM invoices WHERE id = $1", t.Args.ID).Scan(&due)
	switch wait := time.Until(due); {
	case errors.Is(err, sql.ErrNoRows):
		return nil // the transaction was rolled back
	case err != nil:
		return err
	case wait > 0: // the timer of an attempt that was rolled back
		return foliot.Snooze(wait)
	}
	return i.mail(ctx, t.Args.ID)
}

//doc:end

// A timer for a row of a database is created inside the transaction, with Put.
// The row has the due time, which the handler reads.
func Example_transaction() {
	var i invoices // opened by the program
	remindInvoice.Handle(new(foliot.Mux), i.remind)
	_ = i.create
}
