package pgstore

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/history"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Remember implements history.Store.
func (s *Store) Remember(ctx context.Context, now task.Millis, parts []history.Part) error {
	_, err := store.Call(ctx, &s.calls, func() (struct{}, error) {
		const put = "WITH gone AS (DELETE FROM foliot.past WHERE $5 AND at < CASE WHEN hours THEN $6 ELSE $7::bigint END)" +
			" INSERT INTO foliot.past SELECT * FROM unnest($1::bool[], $2::bigint[], $3::text[], $4::bytea[]) ON CONFLICT (hours, at, writer) DO UPDATE SET data = excluded.data RETURNING 1::bigint"
		sums := slices.ContainsFunc(parts, func(p history.Part) bool { return p.Hour })
		_, err := transact(ctx, s, pgx.RowTo[int64], change{how: unsynced, sql: put, args: append(columns(parts), sums, int64(history.Expired(true, now)), int64(history.Expired(false, now)))})
		return struct{}{}, err
	})
	return err
}

// History implements history.Store.
func (s *Store) History(ctx context.Context, hours bool, from, until task.Millis) ([]history.Part, error) {
	return store.Call(ctx, &s.calls, func() ([]history.Part, error) {
		return query(ctx, s, pgx.RowToStructByPos[history.Part], "SELECT hours, at, writer, data FROM foliot.past WHERE hours = $1 AND at >= $2 AND at < $3", hours, int64(from), int64(until))
	})
}
