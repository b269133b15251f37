package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/store/sqltask"
	"github.com/foliot/foliot/internal/task"
)

var readRecords = `
SELECT u.ord - 1, t.stamp, t.record, CASE WHEN u.body THEN t.body END, (SELECT until FROM foliot.lease l WHERE l.key = t.key), t.pending
FROM ` + inputOf[wanted]() + `, foliot.task t WHERE t.key = ANY(ARRAY[u.key]) -- for the reason of write.sql`

type wanted struct {
	Key  string
	Body bool
}

// read reads records, each in one snapshot with its body.
func (s *Store) read(ctx context.Context, keys []task.Key, bodies []bool) ([]sqltask.Found, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	rows, all := make([]wanted, len(keys)), make([]sqltask.Found, len(keys))
	for i, k := range keys {
		rows[i] = wanted{sqltask.Key(k), bodies[i]}
	}
	_, err := query(ctx, s, func(row pgx.CollectableRow) (none struct{}, err error) {
		var i int
		var f sqltask.Found
		var data, pending []byte
		var until *int64
		if err := row.Scan(&i, &f.Stamp, &data, &f.Body, &until, &pending); err != nil {
			return none, err
		}
		if f.Decode(keys[i], data, until); f.Err == nil {
			f.Err = f.Pend(s.config.Embedded, keys[i], pending, s.settings.Load().settings, s.config.Policy)
		}
		all[i] = f
		return none, nil
	}, readRecords, columns(rows)...)
	return all, err
}
