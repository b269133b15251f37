package pgstore

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/sqltask"
	"github.com/foliot/foliot/internal/task"
)

// configuration is a version of the settings as this node knows it.
type configuration struct {
	version  string
	settings *settings.Settings
}

// confirmFor is how long an edit waits until all nodes have applied it.
const confirmFor = 2 * time.Second

// waitForLocks bounds the waits of a transaction for those of users, within statementEnds.
const waitForLocks = "SELECT set_config('lock_timeout', '8s', true)"

// Configure implements store.SettingsStore. The row of the version is locked during
// each edit, so edits are made one after the other, by settings that are up to date. A
// claim compares the version too, so no node claims by older settings.
func (s *Store) Configure(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error) {
	return store.Call(ctx, &s.calls, func() ([]settings.EditReply, error) {
		edit := func(e settings.Edit) (settings.EditReply, error) { return s.editOnce(ctx, now, e) }
		return kernel.Configure(edits, edit, func(accepted []settings.Edit) ([]string, error) {
			if s.config.CallersClock || len(accepted) == 0 {
				return nil, nil
			}
			s.notify("settings")
			if stops, _ := settings.Stops(accepted); !stops {
				return nil, nil
			}
			ctx, stop := context.WithTimeout(ctx, confirmFor)
			defer stop()
			return s.member.AwaitApplied(ctx, s.settings.Load().version, pause)
		})
	})
}

// editOnce makes one edit. It reads the settings again, because another edit can follow
// before this process has applied them.
func (s *Store) editOnce(ctx context.Context, now task.Millis, e settings.Edit) (settings.EditReply, error) {
	reply, err := durably(ctx, s, func(ctx context.Context, tx pgx.Tx) (settings.EditReply, error) { return s.edit(ctx, tx, now, e) })
	if err != nil {
		return reply, err
	}
	return reply, s.reload(ctx)
}

// edit makes one edit in a transaction.
func (s *Store) edit(ctx context.Context, tx pgx.Tx, now task.Millis, e settings.Edit) (settings.EditReply, error) {
	have, err := s.readSettings(ctx, tx, s.settings.Load(), " FOR NO KEY UPDATE")
	if err != nil {
		return settings.EditReply{}, err
	}
	if note, is := e.(settings.Note); is {
		return settings.EditReply{}, s.audit(ctx, tx, note...)
	}
	if drop, is := e.(settings.DropNamespace); is {
		field := settings.SettingKey{Kind: settings.NamespaceKind, Name: drop.Name}.Field()
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", lockNamespace(field)); err != nil {
			return settings.EditReply{}, err
		}
		counts, err := s.readCounts(ctx, tx)
		if err != nil {
			return settings.EditReply{}, err
		}
		for q, c := range counts {
			if q.Namespace == drop.Name {
				drop.Count(q.Queue, c)
			}
		}
		waiting := task.Counts{}
		if err := tx.QueryRow(ctx, "SELECT count(*) FROM foliot.task WHERE pending IS NOT NULL AND key >= $1 || '/' AND key < $1 || '0'", s.schema, drop.Name).Scan(&waiting.States[task.Scheduled]); err != nil {
			return settings.EditReply{}, err
		}
		drop.Count(task.DefaultQueue, waiting)
		e = drop
	}
	changes, refusal := e.Apply(now, have.settings)
	if refusal != nil || len(changes) == 0 {
		return settings.EditReply{Err: refusal}, nil
	}
	moves := false // it opens or closes the store for a migration
	for _, c := range changes {
		var err error
		moves = moves || c.Key.Kind == settings.MigrationKind
		if c.Value == nil {
			_, err = tx.Exec(ctx, "DELETE FROM foliot.setting WHERE field = $1", s.schema, c.Key.Field())
		} else {
			var data []byte
			if data, err = settings.EncodeSetting(c.Value); err == nil {
				_, err = tx.Exec(ctx, "INSERT INTO foliot.setting VALUES ($1, $2) ON CONFLICT (field) DO UPDATE SET value = excluded.value", s.schema, c.Key.Field(), data)
			}
		}
		if err != nil {
			return settings.EditReply{}, err
		}
	}
	if moves {
		if _, err := tx.Exec(ctx, waitForLocks); err != nil {
			return settings.EditReply{}, err
		}
	}
	_, err = tx.Exec(ctx, "UPDATE foliot.version SET settings = $1, moves = moves <> $2", s.schema, versionAfter(have.version), moves)
	if entry, ok := settings.AuditEdit(now, settings.ActorOf(ctx), e, changes); ok && err == nil {
		err = s.audit(ctx, tx, entry)
	}
	return settings.EditReply{Changes: changes}, err
}

// versionAfter returns the version of settings that follow a version: a larger text.
func versionAfter(version string) string {
	n, _ := strconv.ParseUint(version, 16, 64) // there is none before the first edit
	return fmt.Sprintf("%016x", n+1)
}

// adopt publishes new settings and calls the watcher.
func (s *Store) adopt(c *configuration) {
	if c.version != s.settings.Load().version {
		s.settings.Store(c)
		s.Watchers.Settings(c.settings)
		s.applied.Store(&c.version)
		if s.member != nil {
			s.member.WakeLoop() // sends a heartbeat, which confirms the version
		}
	}
}

// reload reads the settings if they have changed.
func (s *Store) reload(ctx context.Context) error {
	s.configuring.Lock()
	defer s.configuring.Unlock()
	return within(ctx, func(ctx context.Context) error {
		return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
			next, err := s.readSettings(ctx, tx, s.settings.Load(), "")
			if err == nil {
				s.adopt(next)
			}
			return err
		})
	})
}

// readSettings returns the settings, which are have if they have its version.
func (s *Store) readSettings(ctx context.Context, tx pgx.Tx, have *configuration, lock string) (*configuration, error) {
	c := &configuration{}
	if err := tx.QueryRow(ctx, "SELECT settings FROM foliot.version"+lock, s.schema).Scan(&c.version); err != nil || c.version == have.version {
		return have, err
	}
	rows, err := tx.Query(ctx, "SELECT field, value FROM foliot.setting", s.schema)
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (settings.Setting, error) {
		var field string
		var value []byte
		if err := row.Scan(&field, &value); err != nil {
			return nil, err
		}
		r, err := settings.ParseSetting(field, value)
		if err != nil {
			err = fmt.Errorf("setting %q: %w: %w", field, codec.ErrDamaged, err)
		}
		return r, err
	})
	c.settings = settings.NewSettings(all...)
	return c, err
}

func (s *Store) audit(ctx context.Context, tx pgx.Tx, entries ...settings.AuditEntry) error {
	for i := range entries {
		if _, err := tx.Exec(ctx, "INSERT INTO foliot.audit (entry) VALUES ($1)", s.schema, codec.EncodeAuditEntry(&entries[i])); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, "DELETE FROM foliot.audit WHERE seq <= (SELECT seq FROM foliot.audit ORDER BY seq DESC OFFSET $1 LIMIT 1)", s.schema, settings.MaxAuditEntries)
	return err
}

// readLog returns entries of the audit log.
func (s *Store) readLog(ctx context.Context, sql string, args ...any) ([]settings.AuditEntry, error) {
	return query(ctx, s, func(row pgx.CollectableRow) (e settings.AuditEntry, err error) {
		var seq uint64
		var data []byte
		if err = row.Scan(&seq, &data); err == nil {
			e, err = codec.DecodeAuditEntry(seq, data)
		}
		return e, err
	}, sql, args...)
}

// Audit implements store.SettingsStore.
func (s *Store) Audit(ctx context.Context, f settings.AuditFilter, before uint64, limit int) (settings.AuditPage, error) {
	return store.Call(ctx, &s.calls, func() (settings.AuditPage, error) {
		return kernel.Audit(f, before, limit, func(before uint64, n int) ([]settings.AuditEntry, error) {
			if before == 0 {
				before = math.MaxInt64
			}
			return s.readLog(ctx, "SELECT seq, entry FROM foliot.audit WHERE seq < $1 ORDER BY seq DESC LIMIT $2", int64(before), n)
		})
	})
}

// sweepLog removes at most limit entries from the beginning of the audit log if their
// retention ended at or before now.
func (s *Store) sweepLog(ctx context.Context, now task.Millis, limit int) (int, error) {
	entries, err := s.readLog(ctx, "SELECT seq, entry FROM foliot.audit ORDER BY seq LIMIT $1", limit)
	n := 0
	for n < len(entries) && entries[n].At.Add(s.config.AuditKeep) <= now {
		n++
	}
	if err == nil && n > 0 {
		_, err = transact(ctx, s, pgx.RowTo[int64], change{how: unsynced, sql: "DELETE FROM foliot.audit WHERE seq <= $1 RETURNING 1::bigint", args: []any{int64(entries[n-1].Seq)}})
	}
	return n, err
}

// Counts implements store.SettingsStore.
func (s *Store) Counts(ctx context.Context) (map[task.QueueKey]task.Counts, error) {
	return store.Call(ctx, &s.calls, func() (map[task.QueueKey]task.Counts, error) { return s.readCounts(ctx, s.pool) })
}

// readCounts adds the rows of news to the counts, in one snapshot.
func (s *Store) readCounts(ctx context.Context, q Querier) (map[task.QueueKey]task.Counts, error) {
	rows, err := q.Query(ctx, "SELECT namespace, queue, number, sum(n)::bigint, NULL::jsonb FROM foliot.count GROUP BY 1, 2, 3 UNION ALL SELECT '', '', 0, 0, news FROM foliot.news", s.schema)
	if err != nil {
		return nil, err
	}
	all := kernel.Tally{}
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (none struct{}, err error) {
		var key task.QueueKey
		var number int16
		var n int64
		var c task.Counts
		var data []byte
		if err := row.Scan(&key.Namespace, &key.Queue, &number, &n, &data); err != nil {
			return none, err
		}
		switch {
		case data != nil:
			var list []sqltask.News
			err = json.Unmarshal(data, &list)
			for _, one := range list {
				for _, d := range one.Deltas {
					all.Add(d.QueueKey, d.Counts)
				}
			}
		case number < 0:
			c.Bytes = n
			all.Add(key, c)
		case int(number) < len(c.States):
			c.States[number] = n
			all.Add(key, c)
		}
		return none, err
	})
	return all, err
}
