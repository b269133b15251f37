package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/sqltask"
	"github.com/foliot/foliot/internal/task"
)

// Scrub implements store.Scrubber. The cursor is the key of the last record. The
// database keeps the indexes; a scrub looks for leases that are no longer extended.
func (s *Store) Scrub(ctx context.Context, now task.Millis, cursor string, limit int) (store.Scrubbed, error) {
	return store.Call(ctx, &s.calls, func() (done store.Scrubbed, err error) {
		if cursor == "" {
			s.abandoned.Begin()
		}
		limit = max(limit, 1)
		rows, err := query(ctx, s, func(row pgx.CollectableRow) (f sqltask.Found, err error) {
			var data []byte
			var until *int64
			if err = row.Scan(&done.Next, &data, &until); err != nil {
				return f, err
			}
			key, err := sqltask.ParseKey(done.Next)
			if err == nil {
				f.Decode(key, data, until)
			}
			return f, err
		}, `SELECT key, record, (SELECT until FROM foliot.lease l WHERE l.key = t.key) FROM foliot.task t WHERE key > $1 AND record IS NOT NULL ORDER BY key LIMIT $2`, cursor, limit)
		if err != nil {
			return done, err
		}
		for _, f := range rows {
			if f.Err != nil {
				return done, f.Err
			}
			done.Examined++
			back, lost := s.abandoned.Find(now, f.Task)
			if !lost {
				continue
			}
			replies, err := s.transit(ctx, now, []store.Step{back})
			if err != nil {
				return done, err
			}
			if replies[0].Err == nil && replies[0].Effect != 0 {
				done.Repairs = append(done.Repairs, store.Repair{Key: f.Task.Key(), Found: store.FoundAbandoned})
			}
		}
		if len(rows) < limit {
			done.Next = ""
			s.abandoned.End()
		}
		return done, nil
	})
}
