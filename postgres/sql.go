package postgres

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// sqlQuerier makes the queries of pgx with a transaction of database/sql. It passes
// arguments as texts, which PostgreSQL parses, because not every driver knows arrays.
type sqlQuerier struct{ tx *sql.Tx }

func (q sqlQuerier) Query(ctx context.Context, statement string, args ...any) (pgx.Rows, error) {
	types, texts := pgtype.NewMap(), make([]any, len(args))
	for i, arg := range args {
		typ, known := types.TypeForValue(arg)
		if !known {
			return nil, fmt.Errorf("argument %d has the type %T, which has no type in PostgreSQL", i+1, arg)
		}
		text, err := types.Encode(typ.OID, pgx.TextFormatCode, arg, []byte{}) // nil: NULL
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w", i+1, err)
		}
		if text != nil {
			texts[i] = string(text)
		}
	}
	rows, err := q.tx.QueryContext(ctx, statement, texts...)
	if err != nil {
		return nil, err
	}
	columns, err := rows.Columns()
	return sqlRows{rows: rows, columns: make([]pgconn.FieldDescription, len(columns))}, err
}

// sqlRows are rows of database/sql, with the methods that pgx.CollectRows calls.
type sqlRows struct {
	pgx.Rows // nil
	rows     *sql.Rows
	columns  []pgconn.FieldDescription // without content: their number matters
}

func (r sqlRows) Next() bool                                   { return r.rows.Next() }
func (r sqlRows) Scan(to ...any) error                         { return r.rows.Scan(to...) }
func (r sqlRows) Err() error                                   { return r.rows.Err() }
func (r sqlRows) Close()                                       { _ = r.rows.Close() } // Err has the error
func (r sqlRows) FieldDescriptions() []pgconn.FieldDescription { return r.columns }
