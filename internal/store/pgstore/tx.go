package pgstore

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/task"
)

// Transaction is a transaction of the user, in which one statement runs at a time.
type Transaction struct {
	DB Querier

	mu    sync.Mutex // held by the statement that runs
	known bool       // it is in the database of the store; guarded by mu
}

// Querier is a pool or a transaction.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

type transactionKey struct{}

// Within returns a context in which calls of a Store read and write in a transaction.
// Their changes happen only if the transaction commits, and an error of the database
// ends it, as any error of a statement does. The caller must not use the transaction
// during a call.
func Within(ctx context.Context, tx *Transaction) context.Context {
	return context.WithValue(ctx, transactionKey{}, tx)
}

// transactionOf returns the user's transaction, nil if there is none.
func transactionOf(ctx context.Context) *Transaction {
	tx, _ := ctx.Value(transactionKey{}).(*Transaction)
	return tx
}

// storeOf is the key of the identity of the store that a connection has.
const storeOf = "foliot.store"

// check refuses a transaction in a database that does not have the store.
func (tx *Transaction) check(ctx context.Context, s *Store) error {
	data := map[string]any{} // of the connection, if the driver is pgx
	if p, is := tx.DB.(interface{ Conn() *pgx.Conn }); is {
		data = p.Conn().PgConn().CustomData()
	}
	if tx.known = tx.known || data[storeOf] == s.id; tx.known {
		return nil
	}
	rows, err := tx.DB.Query(ctx, s.schema.in("SELECT "+identity))
	found := ""
	if err == nil {
		found, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
	}
	switch {
	case err != nil && code(err) != undefinedTable:
		return err
	case err != nil || found != s.id:
		return &task.FieldError{Detail: "the transaction is in another database than the store of the node: begin it on a pool of the same database", Path: "tx"}
	}
	tx.known, data[storeOf] = true, s.id
	return nil
}

// run runs a statement in the user's transaction, and returns its rows.
func run[T any](ctx context.Context, s *Store, tx *Transaction, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if err := tx.check(ctx, s); err != nil {
		return nil, err
	}
	rows, err := tx.DB.Query(ctx, s.schema.in(sql), args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}
