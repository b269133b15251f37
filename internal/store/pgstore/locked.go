package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// dispatchWaits and clientWaits are how long the steps of dispatch and of clients try to
// lock a record. Other calls of this store hold locks for a shorter time, but a user's
// transaction can hold them for long. No step waits for a lock: it would hold up the
// steps that are written with it.
const dispatchWaits, clientWaits = 100 * time.Millisecond, time.Second

// locked returns the error of a step that could not lock its record for too long.
func (m *medium) locked(ctx context.Context, st *step) error {
	since := &st.Extra.locked
	if since.IsZero() {
		*since = time.Now()
	}
	most := dispatchWaits
	if st.Kind == store.Change || st.Kind == store.Fire { // many nodes may fire a schedule at once
		most = clientWaits
	}
	switch waited := time.Since(*since); {
	case st.Kind == store.Claim: // the tasks that are claimed with it must not wait for it
		m.unclaimable.Add(st.Key)
		return task.ErrLaneChanged
	case st.Kind == store.Extension: // its holder tries again later
	case waited < most:
		return nil
	case st.Kind == store.Change:
		all, err := m.lockHolders(ctx)
		if err == nil && len(all) > 0 {
			h := all[0]
			m.failures.Note("change a task that another transaction has locked", &task.LockedError{For: h.For}, "task", st.Key.Name, "namespace", st.Key.Namespace, "pid", h.PID, "user", h.User, "application", h.Application, "for", h.For.String())
			return &task.LockedError{For: h.For}
		}
	}
	return &task.LockedError{}
}

// holder is a connection of the database whose transaction holds up others.
type holder struct {
	PID               int
	User, Application string // as in pg_stat_activity
	For               time.Duration
}

// lockHolders returns the transactions that have changed or locked tasks, and wait for no
// lock themselves, the oldest first.
func (s *Store) lockHolders(ctx context.Context) ([]holder, error) {
	rows, err := s.pool.Query(ctx, `SELECT pid, coalesce(usename, ''), application_name, (extract(epoch FROM clock_timestamp() - xact_start) * 1e9)::bigint
		FROM pg_stat_activity WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() AND datname = current_database() AND pg_blocking_pids(pid) = '{}'
			AND pid IN (SELECT pid FROM pg_locks WHERE relation = to_regclass('foliot.task') AND mode <> 'AccessShareLock') ORDER BY xact_start`, s.schema)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[holder])
}
