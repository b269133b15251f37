package pgstore

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
)

// transaction is a transaction of the user, for one call at a time.
type transaction struct {
	pgx.Tx
	mu sync.Mutex
}

type transactionKey struct{}

// Within returns a context in which calls of a Store read and write in a transaction.
// Their changes are as if never made unless the transaction commits, and an error of
// the database ends it, as any error of a statement does. Calls wait for each other.
// The caller must not use tx during a call.
func Within(ctx context.Context, tx pgx.Tx) context.Context {
	return context.WithValue(ctx, transactionKey{}, &transaction{Tx: tx})
}

// transactionOf returns the user's transaction, nil if there is none.
func transactionOf(ctx context.Context) *transaction {
	tx, _ := ctx.Value(transactionKey{}).(*transaction)
	return tx
}

// outside returns ctx without the user's transaction.
func outside(ctx context.Context) context.Context {
	return context.WithValue(ctx, transactionKey{}, (*transaction)(nil))
}

// run makes a change in the transaction.
func run[T any](ctx context.Context, tx *transaction, scan pgx.RowToFunc[T], ch change) ([]T, error) {
	if len(ch.shared) > 0 {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock_shared(l) FROM unnest($1::bigint[]) l", ch.shared); err != nil {
			return nil, err
		}
	}
	rows, err := tx.Query(ctx, ch.sql, ch.args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}
