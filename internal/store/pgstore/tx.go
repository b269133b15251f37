package pgstore

import (
	"context"
	"regexp"
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
// Their changes are as if never made unless the transaction commits, and an error of
// the database ends it, as any error of a statement does. The caller must not use the
// transaction during a call.
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
	rows, err := tx.DB.Query(ctx, generic(s.schema.in(sql)), args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

// generic returns a statement for which PostgreSQL soon keeps a plan. With the arrays in
// sight, it expects fewer rows than a kept plan does, and plans a write for several
// milliseconds each time. The transactions of the store set plan_cache_mode instead.
func generic(sql string) string {
	text, known := generics.Load(sql)
	if !known {
		text = arrays.ReplaceAllString(sql, "(SELECT $0)")
		generics.Store(sql, text)
	}
	return text.(string)
}

var (
	arrays   = regexp.MustCompile(`\$\d+::\w+\[\]`) // arguments
	generics sync.Map                               // by the statement of the store
)
