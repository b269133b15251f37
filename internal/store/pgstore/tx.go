package pgstore

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Transaction is a transaction of the user, in which one statement runs at a time.
type Transaction struct {
	DB Querier

	mu sync.Mutex // held by the statement that runs
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

// run runs a statement in the user's transaction, and returns its rows.
func run[T any](ctx context.Context, s *Store, tx *Transaction, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	rows, err := tx.DB.Query(ctx, s.schema.in(sql), args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}
