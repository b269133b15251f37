package pgstore

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/permits"
)

var _ store.PermitStore = (*Store)(nil)

// Permit implements store.PermitStore, and notifies the processes that should ask
// again. A message can get lost: they ask a little later anyway.
func (s *Store) Permit(ctx context.Context, asks []store.PermitAsk) []store.PermitReply {
	replies, err := store.Call(ctx, &s.calls, func() ([]store.PermitReply, error) {
		replies := make([]store.PermitReply, len(asks))
		for i, a := range asks {
			var hints []string
			err := within(ctx, func(ctx context.Context) error {
				return pgx.BeginTxFunc(ctx, s.pool, readCommitted, func(tx pgx.Tx) (err error) {
					replies[i], hints, err = s.ask(ctx, tx, a)
					return err
				})
			})
			if err != nil {
				replies[i] = store.PermitReply{Err: failure(err)}
			}
			for _, process := range hints {
				s.notify("permits " + process + " " + permits.Name(a.PermitScope))
			}
		}
		return replies, nil
	})
	if err != nil {
		replies = slices.Repeat([]store.PermitReply{{Err: err}}, len(asks))
	}
	return replies
}

// ask makes one ask, for which it locks the row of the scope. PostgreSQL ends the
// transaction if this process stands still.
func (s *Store) ask(ctx context.Context, tx pgx.Tx, a store.PermitAsk) (reply store.PermitReply, hints []string, err error) {
	name := permits.Name(a.PermitScope)
	var now int64
	var data []byte
	err = tx.QueryRow(ctx, `
WITH begin AS MATERIALIZED (
	SELECT set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '2s', true), set_config('idle_in_transaction_session_timeout', '1s', true)
), mine AS (
	INSERT INTO foliot.permit (scope, state, ends) SELECT $1, '{}', 0 FROM begin ON CONFLICT (scope) DO UPDATE SET scope = excluded.scope RETURNING state
) SELECT state, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint FROM mine`, s.schema, name).Scan(&data, &now)
	if err != nil {
		return reply, nil, err
	}
	var scope permits.Scope
	if err := json.Unmarshal(data, &scope); err != nil {
		return reply, nil, err
	}
	reply, hints = scope.Ask(now, s.member.Process, s.asks.Add(1), s.lease, a)
	if data, err = json.Marshal(&scope); err == nil {
		_, err = tx.Exec(ctx, "UPDATE foliot.permit SET state = $2, ends = $3 WHERE scope = $1", s.schema, name, data, scope.End())
	}
	return reply, hints, err
}
